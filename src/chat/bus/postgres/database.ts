import pg from 'pg';
import { GeodeError, isGeodeError, reasonOf } from '../../../base/errors.ts';
import { get, run, type Statement, type Work } from '../statements.ts';
import { postgresChanges as changes } from '../tables.ts';

const bigints = 20;
/**
 * Locks shared by all hosts: two hosts that start at once must not both create the tables or claim at the same
 * moment.
 */
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
      // Read bigint columns as numbers: ids and times fit.
      types: {
        getTypeParser: (type: number, format?: 'text' | 'binary') =>
          type === bigints ? Number : pg.types.getTypeParser(type, format as 'text'),
      },
    });
    this.#pool.on('error', onError);
  }

  /** Brings the tables up to date. Hosts that start at once take turns. */
  async prepare(): Promise<void> {
    await this.write(function* () {
      yield* run`SELECT pg_advisory_xact_lock(${locks.tables})`;
      yield* run`CREATE TABLE IF NOT EXISTS bus_version (version INTEGER NOT NULL)`;
      const version = Number((yield* get`SELECT version FROM bus_version`)?.version ?? 0);
      if (version > changes.length)
        throw new GeodeError('bus_failed', 'A newer Geode created the tables of the bus.', {
          hint: 'Update Geode on every machine that uses this PostgreSQL.',
        });
      for (const change of changes.slice(version)) yield { parts: [change], values: [], gives: 'changes' };
      yield* run`DELETE FROM bus_version`;
      yield* run`INSERT INTO bus_version VALUES (${changes.length})`;
    });
  }

  /** Runs the work in one transaction. With a lock, one such transaction at a time across all hosts. */
  async write<T>(work: () => Work<T>, lock?: 'claim' | 'reply'): Promise<T> {
    let client: pg.PoolClient | undefined;
    let broken: Error | undefined;
    try {
      client = await this.#pool.connect();
      await client.query('BEGIN');
      if (lock !== undefined) await client.query('SELECT pg_advisory_xact_lock($1)', [locks[lock]]);
      const result = await perform(client, work());
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

  async read<T>(work: Work<T>): Promise<T> {
    try {
      return await perform(this.#pool, work);
    } catch (thrown) {
      throw failure(thrown);
    }
  }

  /** A separate connection for notices. The caller ends it. */
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

async function perform<T>(client: Pick<pg.PoolClient, 'query'>, work: Work<T>): Promise<T> {
  let step = work.next();
  while (!step.done) {
    const { rows, rowCount } = await client.query<Record<string, unknown>>(...query(step.value));
    step = work.next({ rows, changes: rowCount ?? 0 });
  }
  return step.value;
}

function query({ parts, values }: Statement): [text: string, values: unknown[]] {
  return [parts.reduce((text, part, index) => `${text}$${index}${part}`), [...values]];
}

function failure(thrown: unknown): GeodeError {
  if (isGeodeError(thrown)) return thrown;
  return new GeodeError('bus_failed', `PostgreSQL cannot be used: ${reasonOf(thrown)}.`, { cause: thrown });
}
