import { GeodeError } from '../../base/errors.ts';
import type { BusReply, Delivery, NewReply, ReplyClaim } from '../../seams/bus.ts';
import type { Dialect } from './dialect.ts';
import { claimedReply, replyOf } from './rows.ts';
import { all, type Fragment, get, run, sql, type Work } from './statements.ts';

/**
 * The SQL statements of the outbox, each for a transaction that its caller has started. SQLite uses a partial index
 * only if a statement repeats the index's condition. With these indexes no cost grows with the number of sent
 * replies.
 */
const unsent = sql`state IN ('waiting', 'sending')`;
const undelivered = sql`state IN ('unknown', 'failed')`;

/** Returns false for a known key. */
export function* storeReply(reply: NewReply, now: number): Work<boolean> {
  const { channel, lane, key, body, isRepeatable = false } = reply;
  const row = yield* get`INSERT INTO bus_outbox (channel, lane, key, body, state, due, at, repeatable)
    VALUES (${channel}, ${lane}, ${key}, ${body}, 'waiting', ${now}, ${now}, ${isRepeatable ? 1 : 0})
    ON CONFLICT (key) DO NOTHING RETURNING id`;
  if (row === undefined) return false;
  yield* run`INSERT INTO bus_log (lane, at, reply) VALUES (${lane}, ${now}, ${Number(row.id)})`;
  return true;
}

/** For one host at a time, like the claim of a message. */
export function* claimNextReply(
  channel: string,
  { leaseMs, repeatMs }: { readonly leaseMs: number; readonly repeatMs: number },
  now: number,
): Work<ReplyClaim | undefined> {
  const reason = 'The sending process did not report the outcome.';
  yield* endCutOff(sql`channel = ${channel} AND lease_until <= ${now}`, reason, now);
  const head = yield* get`SELECT id, doubt_since FROM bus_outbox AS reply
    WHERE channel = ${channel} AND ${unsent} AND state = 'waiting' AND due <= ${now}
      AND NOT EXISTS (SELECT 1 FROM bus_outbox AS older
        WHERE older.channel = reply.channel AND older.lane = reply.lane
          AND older.state IN ('waiting', 'sending') AND older.id < reply.id)
    ORDER BY id LIMIT 1`;
  if (head === undefined) return undefined;
  const row = yield* get`UPDATE bus_outbox
    SET state = 'sending', epoch = epoch + 1, tries = tries + 1, lease_until = ${now + leaseMs},
      repeat_ms = ${repeatMs}, doubt_since = coalesce(doubt_since, ${now})
    WHERE id = ${Number(head.id)} RETURNING *`;
  return { reply: claimedReply(row, head.doubt_since), epoch: Number(row?.epoch) };
}

/** Queues interrupted replies again where a repeat is safe. Returns how many there were. */
function endCutOff(which: Fragment, reason: string, now: number): Work<number> {
  return run`UPDATE bus_outbox
    SET state = CASE WHEN repeatable = 1 OR doubt_since + repeat_ms > ${now} THEN 'waiting' ELSE 'unknown' END,
      reason = ${reason}
    WHERE ${unsent} AND state = 'sending' AND ${which}`;
}

/** Ends the sends of an earlier host. */
export const endAllCutOff = (reason: string, now: number) => endCutOff(sql`1 = 1`, reason, now);

export function recordDelivery(claim: ReplyClaim, delivery: Delivery): Work<void> {
  const due = delivery.state === 'waiting' ? delivery.due : 0;
  const reason = delivery.state === 'sent' ? null : delivery.reason;
  const platformId = delivery.state === 'sent' ? delivery.platformId : null;
  const isCertain = delivery.state === 'waiting' && delivery.isInDoubt !== true;
  const doubtSince = isCertain ? sql`${claim.reply.inDoubtSince}` : sql`doubt_since`;
  return ofClaim(
    claim,
    sql`state = ${delivery.state}, due = ${due}, reason = ${reason}, platform_id = ${platformId},
      doubt_since = ${doubtSince}`,
  );
}

export const renewSending = (claim: ReplyClaim, leaseUntil: number) =>
  ofClaim(claim, sql`lease_until = ${leaseUntil}`);

function* ofClaim({ reply, epoch }: ReplyClaim, change: Fragment): Work<void> {
  const changes = yield* run`UPDATE bus_outbox SET ${change}
    WHERE id = ${reply.id} AND epoch = ${epoch} AND state = 'sending'`;
  if (changes === 0)
    throw new GeodeError('lease_lost', `The lease of reply ${reply.id} ended before it was sent.`);
}

export function* hasUnsent(channel: string, lane: string): Work<boolean> {
  const row = yield* get`SELECT 1 FROM bus_outbox
    WHERE channel = ${channel} AND lane = ${lane} AND ${unsent} LIMIT 1`;
  return row !== undefined;
}

const longPauseMs = 10_000;

export function* hurryReplies(channel: string, lane: string, now: number): Work<void> {
  yield* run`UPDATE bus_outbox SET due = ${now}
    WHERE channel = ${channel} AND lane = ${lane} AND ${unsent} AND state = 'waiting'
      AND due > ${now + longPauseMs}`;
}

/** Returns false if no sent reply has that id. */
export function* takeBackReply(
  { channel, platformId }: { readonly channel: string; readonly platformId: string },
  { due, reason }: { readonly due: number; readonly reason: string },
): Work<boolean> {
  const changes = yield* run`UPDATE bus_outbox
    SET state = 'waiting', due = ${due}, reason = ${reason}, platform_id = NULL, doubt_since = NULL
    WHERE channel = ${channel} AND platform_id = ${platformId} AND state = 'sent'`;
  return changes > 0;
}

/** Returns false if the state is not final. */
export function* sendAgain(id: number, now: number): Work<boolean> {
  const changes = yield* run`UPDATE bus_outbox
    SET state = 'waiting', due = ${now}, at = ${now}, reported = 0, doubt_since = NULL
    WHERE id = ${id} AND ${undelivered}`;
  return changes > 0;
}

export function* unreportedReplies(channel: string, limit: number): Work<readonly BusReply[]> {
  const rows = yield* all`SELECT * FROM bus_outbox
    WHERE channel = ${channel} AND ${undelivered} AND reported = 0 ORDER BY id LIMIT ${limit}`;
  return rows.map(replyOf);
}

/** Returns false if that was decided before. */
export function* markReported(id: number): Work<boolean> {
  const changes = yield* run`UPDATE bus_outbox SET reported = 1
    WHERE id = ${id} AND ${undelivered} AND reported = 0`;
  return changes > 0;
}

export function* undeliveredReplies(lane: string, limit: number): Work<readonly BusReply[]> {
  const rows = yield* all`SELECT * FROM bus_outbox
    WHERE lane = ${lane} AND ${undelivered} ORDER BY id DESC LIMIT ${limit}`;
  return rows.map(replyOf);
}

export function* lastReplyOf({ keyBegins }: Dialect, start: string): Work<BusReply | undefined> {
  const row = yield* get`SELECT * FROM bus_outbox WHERE ${keyBegins(start)} ORDER BY id DESC LIMIT 1`;
  return row && replyOf(row);
}

export function* replyRow(id: number): Work<BusReply> {
  return replyOf(yield* get`SELECT * FROM bus_outbox WHERE id = ${id}`);
}
