import pg from 'pg';
import { GeodeError, isGeodeError, reasonOf } from '../../../core/errors.ts';
import { changes } from './tables.ts';

export type Row = Readonly<Record<string, unknown>>;

/** One transaction. Values are never part of the text. */
export interface Transaction {
  all(text: TemplateStringsArray, ...values: readonly Value[]): Promise<readonly Row[]>;
  get(text: TemplateStringsArray, ...values: readonly Value[]): Promise<Row | undefined>;
  /** Gives how many rows it changed. */
  run(text: TemplateStringsArray, ...values: readonly Value[]): Promise<number>;
}

type Value = string | number | null | readonly string[];

const bigints = 20;
/** Of all hosts: two that begin at once must not both make the tables, nor claim in the same moment. */
const locks = { tables: 7_305_001, claim: 7_305_002, reply: 7_305_003 } as const;
const connectMs = 10_000;
const statementMs = 30_000;

/** A pool of connections to one PostgreSQL, with the bus's tables. Failures are `bus_failed`. */
export class Database implements AsyncDisposable {
  readonly #pool: pg.Pool;

  constructor(url: string, onError: (error: Error) => void) {
    this.#pool = new pg.Pool({
      connectionString: url,
      max: 8,
      connectionTimeoutMillis: connectMs,
      statement_timeout: statementMs,
      keepAlive: true,
      // Ids and times fit into a number.
      types: {
        getTypeParser: (type: number, format?: 'text' | 'binary') =>
          type === bigints ? Number : pg.types.getTypeParser(type, format as 'text'),
      },
    });
    this.#pool.on('error', onError);
  }

  /** Brings the tables up to date; hosts that begin at once do it one after the other. */
  async prepare(): Promise<void> {
    await this.write(async (sql) => {
      await sql.run`SELECT pg_advisory_xact_lock(${locks.tables})`;
      await sql.run`CREATE TABLE IF NOT EXISTS bus_version (version INTEGER NOT NULL)`;
      const version = Number((await sql.get`SELECT version FROM bus_version`)?.version ?? 0);
      if (version > changes.length)
        throw new GeodeError('bus_failed', 'The tables of the bus were made by a newer Geode.', {
          hint: 'Update Geode on every machine that uses this PostgreSQL.',
        });
      for (const change of changes.slice(version)) await sql.run([change] as unknown as TemplateStringsArray);
      await sql.run`DELETE FROM bus_version`;
      await sql.run`INSERT INTO bus_version VALUES (${changes.length})`;
    });
  }

  /** All of the work or none of it. With a lock, one such work at a time over all hosts. */
  async write<T>(work: (sql: Transaction) => Promise<T>, lock?: 'claim' | 'reply'): Promise<T> {
    let client: pg.PoolClient | undefined;
    let broken: Error | undefined;
    try {
      client = await this.#pool.connect();
      await client.query('BEGIN');
      if (lock !== undefined) await client.query('SELECT pg_advisory_xact_lock($1)', [locks[lock]]);
      const result = await work(transaction(client));
      await client.query('COMMIT');
      return result;
    } catch (thrown) {
      await client?.query('ROLLBACK').catch((error: Error) => {
        broken = error;
      });
      throw failure(thrown);
    } finally {
      client?.release(broken);
    }
  }

  async read<T>(work: (sql: Transaction) => Promise<T>): Promise<T> {
    try {
      return await work(transaction(this.#pool));
    } catch (thrown) {
      throw failure(thrown);
    }
  }

  /** A connection of its own, for notices. The caller ends it. */
  async connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.#pool.options.connectionString,
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
    });
    await client.connect();
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.end();
  }
}

function transaction(client: Pick<pg.PoolClient, 'query'>): Transaction {
  const query = async (text: TemplateStringsArray, values: readonly Value[]) =>
    client.query<Record<string, unknown>>(
      text.reduce((all, part, index) => (index === 0 ? part : `${all}$${index}${part}`), ''),
      [...values],
    );
  return {
    all: async (text, ...values) => (await query(text, values)).rows,
    get: async (text, ...values) => (await query(text, values)).rows[0],
    run: async (text, ...values) => (await query(text, values)).rowCount ?? 0,
  };
}

function failure(thrown: unknown): GeodeError {
  if (isGeodeError(thrown)) return thrown;
  return new GeodeError('bus_failed', `PostgreSQL cannot be used: ${reasonOf(thrown)}.`, { cause: thrown });
}
