import { randomUUID } from 'node:crypto';
import type { Log } from '../../../base/log.ts';
import type { Dialect } from '../dialect.ts';
import { SqlBus } from '../sql-bus.ts';
import { get, run, sql, type Work } from '../statements.ts';
import { Database } from './database.ts';
import { Notices } from './notices.ts';

export interface PostgresBusOptions {
  /** `postgres://user:password@host/database`. */
  readonly url: string;
  readonly log: Log;
  /** How long a host keeps its lanes after its last sign of life. Then another host takes them. */
  readonly keepMs?: number;
  /** The clock of leases. Default: the database's, so that hosts need not agree. */
  readonly now?: () => number;
}

const usualKeepMs = 15_000;

/** The bus in PostgreSQL, shared by several hosts. */
export class PostgresBus extends SqlBus implements AsyncDisposable {
  readonly #database: Database;
  readonly #notices: Notices;
  /** Identifies this process; another process of the same machine is another host. */
  readonly #host: string;

  private constructor(database: Database, { log, keepMs = usualKeepMs, now }: PostgresBusOptions) {
    const host = randomUUID();
    const timed = <T>(work: (now: number) => Work<T>) =>
      function* (): Work<T> {
        return yield* work(now?.() ?? (yield* databaseClock()));
      };
    super({
      dialect: dialectOf(host, keepMs),
      read: (work) => database.read(work),
      write: (work, lock) => database.write(timed(work), lock),
      change: (work) =>
        database.write(function* () {
          const result = yield* timed(work)();
          yield* run`SELECT pg_notify('geode_bus', ${host})`;
          return result;
        }),
    });
    this.#host = host;
    this.#database = database;
    this.#notices = new Notices(database, log, () => this.notify());
  }

  /** Throws `bus_failed` if the database cannot be reached. */
  static async open(options: PostgresBusOptions): Promise<PostgresBus> {
    await using opened = new AsyncDisposableStack();
    const database = opened.use(
      new Database(options.url, (err) => options.log.warn({ err }, 'A connection to PostgreSQL was lost')),
    );
    await database.prepare();
    // Killed hosts are still in the table.
    await database.write(function* () {
      yield* run`DELETE FROM bus_hosts WHERE until < ${options.now?.() ?? (yield* databaseClock())}`;
    });
    const bus = new PostgresBus(database, options);
    opened.move();
    return bus;
  }

  /** Lets other hosts take its lanes at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#notices[Symbol.asyncDispose]();
    await this.#database.write(() => run`DELETE FROM bus_hosts WHERE id = ${this.#host}`).catch(() => {}); // It expires by itself.
    await this.#database[Symbol.asyncDispose]();
  }
}

function* databaseClock(): Work<number> {
  const row = yield* get`SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now`;
  return Number(row?.now);
}

function dialectOf(host: string, keepMs: number): Dialect {
  return {
    nextPosition: sql`nextval('bus_positions')`,
    nextEpoch: sql`nextval('bus_epochs')`,
    forUpdate: sql`FOR UPDATE`,
    index: () => sql``,
    list: (values) => sql`SELECT value FROM json_array_elements_text(${JSON.stringify(values)}::json)`,
    keyBegins: (start) => sql`starts_with(key, ${start})`,
    hosts: {
      *renew(now) {
        yield* run`INSERT INTO bus_hosts VALUES (${host}, ${now + keepMs})
          ON CONFLICT (id) DO UPDATE SET until = excluded.until`;
      },
      isFree: (now) => sql`NOT EXISTS (SELECT 1 FROM bus_homes JOIN bus_hosts ON bus_hosts.id = bus_homes.host
        WHERE bus_homes.home = head.home AND bus_homes.host <> ${host} AND bus_hosts.until > ${now})`,
      *take(home) {
        yield* run`INSERT INTO bus_homes VALUES (${home}, ${host})
          ON CONFLICT (home) DO UPDATE SET host = excluded.host`;
      },
      *forgetOthers() {
        yield* run`DELETE FROM bus_hosts WHERE id <> ${host}`;
      },
    },
  };
}
