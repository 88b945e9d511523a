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
} from '../../core/bus.ts';
import type { Sql } from '../../ledger/connection.ts';
import type { Ledger } from '../../ledger/ledger.ts';
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
import { messageOf } from './rows.ts';

/** The bus in a ledger that was opened as `durable`, with the bus's chapter. Each call is one transaction. */
export class LedgerBus implements Bus {
  readonly #ledger: Ledger;
  readonly #now: () => number;
  readonly #changes = new EventEmitter().setMaxListeners(0);

  constructor(ledger: Ledger, now: () => number = Date.now) {
    this.#ledger = ledger;
    this.#now = now;
  }

  put = (message: NewMessage) => this.#write((sql) => storeMessage(sql, message, this.#now()));

  async claim(options: ClaimOptions): Promise<Claim | undefined> {
    return this.#ledger.write((sql) => claimNext(sql, options, this.#now()));
  }

  async renew(claim: Claim, leaseMs: number): Promise<void> {
    this.#ledger.write((sql) => renewLease(sql, claim, this.#now() + leaseMs));
  }

  async keepDraft(claim: Claim, platformId: string): Promise<void> {
    this.#ledger.write((sql) => storeDraft(sql, claim, platformId));
  }

  finish = (claim: Claim, ending: Ending) =>
    this.#write((sql) => {
      endMessage(sql, claim, ending);
      for (const reply of ending.replies ?? []) storeReply(sql, reply, this.#now());
    });

  retry = (claim: Claim, retry: Retry) => this.#write((sql) => giveBack(sql, claim, retry));

  amend = async (key: string, change: (body: string) => string | undefined) =>
    this.#write((sql) => amendMessage(sql, key, change));

  reopen = (id: number, user: string) => this.#write((sql) => reopenMessage(sql, id, user, this.#now()));

  async place(id: number) {
    return this.#ledger.read((sql) => placeOf(sql, id));
  }

  async message(id: number) {
    return this.#ledger.read((sql) => messageRow(sql, id));
  }

  async waiting(lane: string, limit: number) {
    const rows = this.#ledger.read(
      (sql) => sql.all`SELECT * FROM bus_inbox WHERE lane = ${lane} AND state IN ('waiting', 'running')
        AND state = 'waiting' ORDER BY position LIMIT ${limit}`,
    );
    return rows.map(messageOf);
  }

  drop = (lane: string) =>
    this.#write((sql) => {
      const { changes } = sql.run`UPDATE bus_inbox SET state = 'stopped'
        WHERE lane = ${lane} AND state IN ('waiting', 'delayed')`;
      return Number(changes);
    });

  say = (reply: NewReply) => this.#write((sql) => storeReply(sql, reply, this.#now()));

  async claimReply(channel: string, leaseMs: number, repeatMs = 0): Promise<ReplyClaim | undefined> {
    return this.#ledger.write((sql) => claimNextReply(sql, channel, { leaseMs, repeatMs }, this.#now()));
  }

  async renewReply(claim: ReplyClaim, leaseMs: number): Promise<void> {
    this.#ledger.write((sql) => renewSending(sql, claim, this.#now() + leaseMs));
  }

  async isUnsent(channel: string, lane: string): Promise<boolean> {
    return this.#ledger.read((sql) => hasUnsent(sql, channel, lane));
  }

  hurry = (channel: string, lane: string) =>
    this.#write((sql) => hurryReplies(sql, channel, lane, this.#now()));

  takeBack = (
    channel: string,
    platformId: string,
    delay: { readonly due: number; readonly reason: string },
  ) => this.#write((sql) => takeBackReply(sql, { channel, platformId }, delay));

  delivered = (claim: ReplyClaim, delivery: Delivery) =>
    this.#write((sql) => recordDelivery(sql, claim, delivery));

  resend = (id: number) => this.#write((sql) => sendAgain(sql, id, this.#now()));

  async unreported(channel: string, limit: number) {
    return this.#ledger.read((sql) => unreportedReplies(sql, channel, limit));
  }

  settleReport = (id: number, notice?: NewReply) =>
    this.#write((sql) => {
      if (!markReported(sql, id)) return false;
      if (notice !== undefined) storeReply(sql, notice, this.#now());
      return true;
    });

  async lastOf(keyStart: string) {
    return this.#ledger.read((sql) => lastReplyOf(sql, keyStart));
  }

  async undelivered(lane: string, limit: number) {
    return this.#ledger.read((sql) => undeliveredReplies(sql, lane, limit));
  }

  async history(lane: string, { after, limit }: LaneQuery) {
    const rows = this.#ledger.read(
      (sql) => sql.all`SELECT * FROM (SELECT * FROM bus_inbox
        WHERE lane = ${lane} AND id > ${after} AND state IN ('done', 'failed', 'stopped')
        ORDER BY id DESC LIMIT ${limit}) ORDER BY id`,
    );
    return rows.map(messageOf);
  }

  async read(lane: string, { after, limit }: LaneQuery): Promise<readonly LaneEntry[]> {
    return this.#ledger.read((sql) =>
      sql.all`SELECT * FROM bus_log WHERE lane = ${lane} AND seq > ${after} ORDER BY seq LIMIT ${limit}`.map(
        (row) => entryOf(sql, row),
      ),
    );
  }

  async counts() {
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT
        (SELECT count(*) FROM bus_inbox WHERE state IN ('waiting', 'running', 'delayed') AND state = 'waiting') AS waiting,
        (SELECT count(*) FROM bus_inbox WHERE state IN ('waiting', 'running', 'delayed') AND state = 'running') AS running,
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
    this.#write((sql) => {
      const messages = sql.run`UPDATE bus_inbox SET state = 'waiting', reason = ${interrupted}
        WHERE state = 'running'`;
      const replies = sql.run`UPDATE bus_outbox
        SET state = iif(repeatable OR doubt_since + repeat_ms > ${this.#now()}, 'waiting', 'unknown'),
          reason = ${interrupted}
        WHERE state = 'sending'`;
      return { messages: Number(messages.changes), replies: Number(replies.changes) };
    });

  onChange(listener: () => void): Disposable {
    this.#changes.on('change', listener);
    return { [Symbol.dispose]: () => void this.#changes.off('change', listener) };
  }

  async #write<T>(work: (sql: Sql) => T): Promise<T> {
    const result = this.#ledger.write(work);
    this.#changes.emit('change');
    return result;
  }
}

const interrupted = 'The host ended meanwhile.';

function entryOf(sql: Sql, row: Readonly<Record<string, unknown>>): LaneEntry {
  const common = { seq: Number(row.seq), at: Number(row.at) };
  if (row.message === null) return { ...common, type: 'reply', reply: replyRow(sql, Number(row.reply)) };
  const message = messageOf(sql.get`SELECT * FROM bus_inbox WHERE id = ${Number(row.message)}`);
  return { ...common, type: 'message', message };
}
