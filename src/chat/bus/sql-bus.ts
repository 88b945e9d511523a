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
} from '../../seams/bus.ts';
import type { Dialect } from './dialect.ts';
import * as inbox from './inbox.ts';
import * as outbox from './outbox.ts';
import { messageOf } from './rows.ts';
import { all, get, type StoredRow, type Work } from './statements.ts';

/** The database of a bus, with its tables. */
export interface BusStore {
  readonly dialect: Dialect;
  read<T>(work: Work<T>): Promise<T>;
  /** Runs the work in one transaction. With a lock, one such transaction at a time across all hosts. */
  write<T>(work: (now: number) => Work<T>, lock?: 'claim' | 'reply'): Promise<T>;
  /** Like `write`, and notifies the other hosts. */
  change<T>(work: (now: number) => Work<T>): Promise<T>;
}

const interrupted = 'The host exited during the work.';

/** The bus in the tables of a database. Each call is one transaction. */
export class SqlBus implements Bus {
  readonly #store: BusStore;
  readonly #dialect: Dialect;
  readonly #changes = new EventEmitter().setMaxListeners(0);

  constructor(store: BusStore) {
    this.#store = store;
    this.#dialect = store.dialect;
  }

  put = (message: NewMessage) => this.#change((now) => inbox.storeMessage(this.#dialect, message, now));

  claim = (options: ClaimOptions) =>
    this.#store.write((now) => inbox.claimNext(this.#dialect, options, now), 'claim');

  renew = (claim: Claim, leaseMs: number) =>
    this.#store.write((now) => inbox.renewLease(claim, now + leaseMs));

  keepDraft = (claim: Claim, platformId: string) =>
    this.#store.write(() => inbox.storeDraft(claim, platformId));

  finish = (claim: Claim, ending: Ending) =>
    this.#change(function* (now) {
      yield* inbox.endMessage(claim, ending);
      for (const reply of ending.replies ?? []) yield* outbox.storeReply(reply, now);
    });

  retry = (claim: Claim, retry: Retry) => this.#change(() => inbox.giveBack(claim, retry));

  amend = (key: string, change: (body: string) => string | undefined) =>
    this.#change(() => inbox.amendMessage(this.#dialect, key, change));

  reopen = (id: number, user: string) =>
    this.#change((now) => inbox.reopenMessage(this.#dialect, id, user, now));

  place = (id: number) => this.#store.read(inbox.queuePlaceOf(this.#dialect, id));

  message = (id: number) => this.#store.read(inbox.messageRow(id));

  waiting = (lane: string, limit: number) => this.#store.read(inbox.waitingMessages(lane, limit));

  drop = (lane: string) => this.#change(() => inbox.dropWaiting(lane));

  storeReply = (reply: NewReply) => this.#change((now) => outbox.storeReply(reply, now));

  claimReply = (channel: string, leaseMs: number, repeatMs = 0) =>
    this.#store.write((now) => outbox.claimNextReply(channel, { leaseMs, repeatMs }, now), 'reply');

  renewReply = (claim: ReplyClaim, leaseMs: number) =>
    this.#store.write((now) => outbox.renewSending(claim, now + leaseMs));

  isUnsent = (channel: string, lane: string) => this.#store.read(outbox.hasUnsent(channel, lane));

  hurry = (channel: string, lane: string) => this.#change((now) => outbox.hurryReplies(channel, lane, now));

  takeBack = (
    channel: string,
    platformId: string,
    delay: { readonly due: number; readonly reason: string },
  ) => this.#change(() => outbox.takeBackReply({ channel, platformId }, delay));

  delivered = (claim: ReplyClaim, delivery: Delivery) =>
    this.#change(() => outbox.recordDelivery(claim, delivery));

  resend = (id: number) => this.#change((now) => outbox.sendAgain(id, now));

  unreported = (channel: string, limit: number) => this.#store.read(outbox.unreportedReplies(channel, limit));

  settleReport = (id: number, notice?: NewReply) =>
    this.#change(function* (now) {
      if (!(yield* outbox.markReported(id))) return false;
      if (notice !== undefined) yield* outbox.storeReply(notice, now);
      return true;
    });

  lastOf = (keyStart: string) => this.#store.read(outbox.lastReplyOf(this.#dialect, keyStart));

  undelivered = (lane: string, limit: number) => this.#store.read(outbox.undeliveredReplies(lane, limit));

  history = (lane: string, { after, limit }: LaneQuery) =>
    this.#store.read(inbox.endedMessages(lane, after, limit));

  read = (lane: string, query: LaneQuery) => this.#store.read(laneEntries(lane, query));

  counts = () => this.#store.read(counts());

  recover = () => {
    const { hosts } = this.#dialect;
    return this.#change(function* (now) {
      const messages = yield* inbox.giveBackAll(interrupted);
      const replies = yield* outbox.endAllCutOff(interrupted, now);
      yield* hosts.forgetOthers();
      return { messages, replies };
    });
  };

  onChange(listener: () => void): Disposable {
    this.#changes.on('change', listener);
    return { [Symbol.dispose]: () => void this.#changes.off('change', listener) };
  }

  /** Emits changes of this host and of others. */
  protected notify(): void {
    this.#changes.emit('change');
  }

  async #change<T>(work: (now: number) => Work<T>): Promise<T> {
    const result = await this.#store.change(work);
    this.notify();
    return result;
  }
}

function* laneEntries(lane: string, { after, limit }: LaneQuery): Work<readonly LaneEntry[]> {
  const rows = yield* all`SELECT * FROM bus_log WHERE lane = ${lane} AND seq > ${after}
    ORDER BY seq LIMIT ${limit}`;
  const entries: LaneEntry[] = [];
  for (const row of rows) entries.push(yield* entryOf(row));
  return entries;
}

function* entryOf({ seq, at, message, reply }: StoredRow): Work<LaneEntry> {
  const common = { seq: Number(seq), at: Number(at) };
  if (message === null) return { ...common, type: 'reply', reply: yield* outbox.replyRow(Number(reply)) };
  const row = yield* get`SELECT * FROM bus_inbox WHERE id = ${Number(message)}`;
  return { ...common, type: 'message', message: messageOf(row) };
}

function* counts(): Work<Awaited<ReturnType<Bus['counts']>>> {
  const row = yield* get`SELECT
    (SELECT count(*) FROM bus_inbox WHERE state IN ('waiting', 'running', 'delayed') AND state = 'waiting') AS waiting,
    (SELECT count(*) FROM bus_inbox WHERE state IN ('waiting', 'running', 'delayed') AND state = 'running') AS running,
    (SELECT count(*) FROM bus_outbox WHERE state IN ('waiting', 'sending')) AS unsent,
    (SELECT count(*) FROM bus_outbox WHERE state = 'unknown') AS unknown`;
  return {
    waiting: Number(row?.waiting),
    running: Number(row?.running),
    unsent: Number(row?.unsent),
    unknown: Number(row?.unknown),
  };
}
