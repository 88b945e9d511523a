import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import type {
  Bus,
  Claim,
  ClaimOptions,
  Delivery,
  Ending,
  LaneEntry,
  LaneQuery,
  NewMessage,
  NewReply,
  ReplyClaim,
  Retry,
} from '../../../core/bus.ts';
import type { Log } from '../../../core/log.ts';
import { messageOf } from '../rows.ts';
import { Database, type Row, type Transaction } from './database.ts';
import {
  amendMessage,
  claimNext,
  endMessage,
  giveBack,
  messageRow,
  placeOf,
  renewLease,
  reopenMessage,
  storeDraft,
  storeMessage,
} from './inbox.ts';
import { Notices } from './notices.ts';
import {
  claimNextReply,
  hasUnsent,
  hurryReplies,
  lastReplyOf,
  markReported,
  recordDelivery,
  renewSending,
  replyRow,
  sendAgain,
  storeReply,
  takeBackReply,
  undeliveredReplies,
  unreportedReplies,
} from './outbox.ts';

export interface PostgresBusOptions {
  /** `postgres://user:password@host/database`. */
  readonly url: string;
  readonly log: Log;
  /** How long a host that is not heard of keeps its lanes; a lane moves to another host after that. */
  readonly keepMs?: number;
  /** The clock that leases go by: the database's by default, so that hosts need not agree. */
  readonly now?: () => number;
}

const usualKeepMs = 15_000;

/** The bus in PostgreSQL, for several hosts. Each call is one transaction. */
export class PostgresBus implements Bus, AsyncDisposable {
  readonly #database: Database;
  readonly #notices: Notices;
  readonly #options: PostgresBusOptions;
  readonly #changes = new EventEmitter().setMaxListeners(0);
  /** Of this process; another one of the same machine is another host. */
  readonly #host = randomUUID();

  private constructor(options: PostgresBusOptions, database: Database) {
    this.#options = options;
    this.#database = database;
    this.#notices = new Notices(database, options.log, () => this.#changes.emit('change'));
  }

  /** `bus_failed` when the database cannot be reached. */
  static async open(options: PostgresBusOptions): Promise<PostgresBus> {
    await using opened = new AsyncDisposableStack();
    const database = opened.use(
      new Database(options.url, (err) => options.log.warn({ err }, 'A connection to PostgreSQL was lost')),
    );
    await database.prepare();
    const bus = new PostgresBus(options, database);
    // Hosts that were killed took no leave.
    await database.write(async (sql) => sql.run`DELETE FROM bus_hosts WHERE until < ${await bus.#now(sql)}`);
    opened.move();
    return bus;
  }

  /** Its lanes are for others at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#notices[Symbol.asyncDispose]();
    await this.#database
      .write((sql) => sql.run`DELETE FROM bus_hosts WHERE id = ${this.#host}`)
      .catch(() => {}); // It runs out by itself.
    await this.#database[Symbol.asyncDispose]();
  }

  put = (message: NewMessage) => this.#write((sql, now) => storeMessage(sql, message, now));

  claim(options: ClaimOptions): Promise<Claim | undefined> {
    const claimant = { host: this.#host, keepMs: this.#options.keepMs ?? usualKeepMs };
    return this.#database.write(
      async (sql) => claimNext(sql, options, claimant, await this.#now(sql)),
      'claim',
    );
  }

  renew(claim: Claim, leaseMs: number): Promise<void> {
    return this.#database.write(async (sql) => renewLease(sql, claim, (await this.#now(sql)) + leaseMs));
  }

  keepDraft(claim: Claim, platformId: string): Promise<void> {
    return this.#database.write((sql) => storeDraft(sql, claim, platformId));
  }

  finish = (claim: Claim, ending: Ending) =>
    this.#write(async (sql, now) => {
      await endMessage(sql, claim, ending);
      for (const reply of ending.replies ?? []) await storeReply(sql, reply, now);
    });

  retry = (claim: Claim, retry: Retry) => this.#write((sql) => giveBack(sql, claim, retry));

  amend = (key: string, change: (body: string) => string | undefined) =>
    this.#write((sql) => amendMessage(sql, key, change));

  reopen = (id: number, user: string) => this.#write((sql, now) => reopenMessage(sql, id, user, now));

  place = (id: number) => this.#database.read((sql) => placeOf(sql, id));

  message = (id: number) => this.#database.read((sql) => messageRow(sql, id));

  async waiting(lane: string, limit: number) {
    const rows = await this.#database.read(
      (sql) => sql.all`SELECT * FROM bus_inbox WHERE lane = ${lane} AND state = 'waiting'
        ORDER BY position LIMIT ${limit}`,
    );
    return rows.map(messageOf);
  }

  drop = (lane: string) =>
    this.#write(
      (sql) => sql.run`UPDATE bus_inbox SET state = 'stopped'
        WHERE lane = ${lane} AND state IN ('waiting', 'delayed')`,
    );

  say = (reply: NewReply) => this.#write((sql, now) => storeReply(sql, reply, now));

  claimReply(channel: string, leaseMs: number, repeatMs = 0): Promise<ReplyClaim | undefined> {
    return this.#database.write(
      async (sql) => claimNextReply(sql, channel, { leaseMs, repeatMs }, await this.#now(sql)),
      'reply',
    );
  }

  renewReply(claim: ReplyClaim, leaseMs: number): Promise<void> {
    return this.#database.write(async (sql) => renewSending(sql, claim, (await this.#now(sql)) + leaseMs));
  }

  isUnsent = (channel: string, lane: string) => this.#database.read((sql) => hasUnsent(sql, channel, lane));

  hurry = (channel: string, lane: string) => this.#write((sql, now) => hurryReplies(sql, channel, lane, now));

  takeBack = (
    channel: string,
    platformId: string,
    delay: { readonly due: number; readonly reason: string },
  ) => this.#write((sql) => takeBackReply(sql, { channel, platformId }, delay));

  delivered = (claim: ReplyClaim, delivery: Delivery) =>
    this.#write((sql) => recordDelivery(sql, claim, delivery));

  resend = (id: number) => this.#write((sql, now) => sendAgain(sql, id, now));

  unreported = (channel: string, limit: number) =>
    this.#database.read((sql) => unreportedReplies(sql, channel, limit));

  settleReport = (id: number, notice?: NewReply) =>
    this.#write(async (sql, now) => {
      if (!(await markReported(sql, id))) return false;
      if (notice !== undefined) await storeReply(sql, notice, now);
      return true;
    });

  lastOf = (keyStart: string) => this.#database.read((sql) => lastReplyOf(sql, keyStart));

  undelivered = (lane: string, limit: number) =>
    this.#database.read((sql) => undeliveredReplies(sql, lane, limit));

  async history(lane: string, { after, limit }: LaneQuery) {
    const rows = await this.#database.read(
      (sql) => sql.all`SELECT * FROM (SELECT * FROM bus_inbox
        WHERE lane = ${lane} AND id > ${after} AND state IN ('done', 'failed', 'stopped')
        ORDER BY id DESC LIMIT ${limit}) AS latest ORDER BY id`,
    );
    return rows.map(messageOf);
  }

  read(lane: string, { after, limit }: LaneQuery): Promise<readonly LaneEntry[]> {
    return this.#database.read(async (sql) => {
      const rows = await sql.all`SELECT * FROM bus_log WHERE lane = ${lane} AND seq > ${after}
        ORDER BY seq LIMIT ${limit}`;
      const entries: LaneEntry[] = [];
      for (const row of rows) entries.push(await entryOf(sql, row));
      return entries;
    });
  }

  async counts() {
    const row = await this.#database.read(
      (sql) => sql.get`SELECT
        (SELECT count(*) FROM bus_inbox WHERE state = 'waiting') AS waiting,
        (SELECT count(*) FROM bus_inbox WHERE state = 'running') AS running,
        (SELECT count(*) FROM bus_outbox WHERE state IN ('waiting', 'sending')) AS unsent,
        (SELECT count(*) FROM bus_outbox WHERE state = 'unknown') AS unknown`,
    );
    return {
      waiting: Number(row?.waiting),
      running: Number(row?.running),
      unsent: Number(row?.unsent),
      unknown: Number(row?.unknown),
    };
  }

  recover = () =>
    this.#write(async (sql, now) => {
      const messages = await sql.run`UPDATE bus_inbox SET state = 'waiting', reason = ${interrupted}
        WHERE state = 'running'`;
      const replies = await sql.run`UPDATE bus_outbox
        SET state = CASE WHEN repeatable = 1 OR doubt_since + repeat_ms > ${now} THEN 'waiting' ELSE 'unknown' END,
          reason = ${interrupted}
        WHERE state = 'sending'`;
      await sql.run`DELETE FROM bus_hosts WHERE id <> ${this.#host}`;
      return { messages, replies };
    });

  onChange(listener: () => void): Disposable {
    this.#changes.on('change', listener);
    return { [Symbol.dispose]: () => void this.#changes.off('change', listener) };
  }

  async #write<T>(work: (sql: Transaction, now: number) => Promise<T>): Promise<T> {
    const result = await this.#database.write(async (sql) => {
      const done = await work(sql, await this.#now(sql));
      await sql.run`SELECT pg_notify('geode_bus', ${this.#host})`;
      return done;
    });
    this.#changes.emit('change');
    return result;
  }

  async #now(sql: Transaction): Promise<number> {
    if (this.#options.now !== undefined) return this.#options.now();
    const row = await sql.get`SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now`;
    return Number(row?.now);
  }
}

const interrupted = 'The host ended meanwhile.';

async function entryOf(sql: Transaction, row: Row): Promise<LaneEntry> {
  const common = { seq: Number(row.seq), at: Number(row.at) };
  if (row.message === null)
    return { ...common, type: 'reply', reply: await replyRow(sql, Number(row.reply)) };
  const message = messageOf(await sql.get`SELECT * FROM bus_inbox WHERE id = ${Number(row.message)}`);
  return { ...common, type: 'message', message };
}
