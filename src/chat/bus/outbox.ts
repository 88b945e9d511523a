import type { BusReply, Delivery, NewReply, ReplyClaim } from '../../core/bus.ts';
import { GeodeError } from '../../core/errors.ts';
import type { Sql } from '../../ledger/connection.ts';
import { claimedReply, replyOf } from './rows.ts';

/**
 * The outbox's statements, each for a transaction that its caller has begun. SQLite takes an index of some rows only
 * where a statement repeats the words that chose them, so that the cost of none grows with what was sent before.
 */

/** False for a key that is known. */
export function storeReply(sql: Sql, reply: NewReply, now: number): boolean {
  const { channel, lane, key, body, isRepeatable = false } = reply;
  const row = sql.get`INSERT INTO bus_outbox (channel, lane, key, body, state, due, at, repeatable)
    VALUES (${channel}, ${lane}, ${key}, ${body}, 'waiting', ${now}, ${now}, ${isRepeatable ? 1 : 0})
    ON CONFLICT (key) DO NOTHING RETURNING id`;
  if (row === undefined) return false;
  sql.run`INSERT INTO bus_log (lane, at, reply) VALUES (${lane}, ${now}, ${Number(row.id)})`;
  return true;
}

export function claimNextReply(
  sql: Sql,
  channel: string,
  { leaseMs, repeatMs }: { readonly leaseMs: number; readonly repeatMs: number },
  now: number,
): ReplyClaim | undefined {
  const cutOff = 'The process that sent it did not say how it ended.';
  sql.run`UPDATE bus_outbox
    SET state = iif(repeatable OR doubt_since + repeat_ms > ${now}, 'waiting', 'unknown'), reason = ${cutOff}
    WHERE channel = ${channel} AND state IN ('waiting', 'sending') AND state = 'sending' AND lease_until <= ${now}`;
  const head = sql.get`SELECT id, epoch, doubt_since FROM bus_outbox AS reply
    WHERE channel = ${channel} AND state IN ('waiting', 'sending') AND state = 'waiting' AND due <= ${now}
      AND NOT EXISTS (SELECT 1 FROM bus_outbox AS older
        WHERE older.channel = reply.channel AND older.lane = reply.lane
          AND older.state IN ('waiting', 'sending') AND older.id < reply.id)
    ORDER BY id LIMIT 1`;
  if (head === undefined) return undefined;
  const epoch = Number(head.epoch) + 1;
  const row = sql.get`UPDATE bus_outbox
    SET state = 'sending', epoch = ${epoch}, tries = tries + 1, lease_until = ${now + leaseMs},
      repeat_ms = ${repeatMs}, doubt_since = coalesce(doubt_since, ${now})
    WHERE id = ${Number(head.id)} RETURNING *`;
  return { reply: claimedReply(row, head.doubt_since), epoch };
}

export function recordDelivery(sql: Sql, { reply, epoch }: ReplyClaim, delivery: Delivery): void {
  const due = delivery.state === 'waiting' ? delivery.due : 0;
  const reason = delivery.state === 'sent' ? null : delivery.reason;
  const platformId = delivery.state === 'sent' ? delivery.platformId : null;
  const isCertain = delivery.state === 'waiting' && delivery.isInDoubt !== true;
  const { changes } = sql.run`UPDATE bus_outbox
    SET state = ${delivery.state}, due = ${due}, reason = ${reason}, platform_id = ${platformId},
      doubt_since = iif(${isCertain ? 1 : 0}, ${reply.inDoubtSince}, doubt_since)
    WHERE id = ${reply.id} AND epoch = ${epoch} AND state = 'sending'`;
  checkHeld(changes, reply);
}

export function renewSending(sql: Sql, { reply, epoch }: ReplyClaim, leaseUntil: number): void {
  const { changes } = sql.run`UPDATE bus_outbox SET lease_until = ${leaseUntil}
    WHERE id = ${reply.id} AND epoch = ${epoch} AND state = 'sending'`;
  checkHeld(changes, reply);
}

function checkHeld(changes: number | bigint, { id }: BusReply): void {
  if (Number(changes) === 0)
    throw new GeodeError('lease_lost', `The lease of reply ${id} ended before it was sent.`);
}

export function hasUnsent(sql: Sql, channel: string, lane: string): boolean {
  const row = sql.get`SELECT 1 FROM bus_outbox
    WHERE channel = ${channel} AND lane = ${lane} AND state IN ('waiting', 'sending') LIMIT 1`;
  return row !== undefined;
}

const longPauseMs = 10_000;

export function hurryReplies(sql: Sql, channel: string, lane: string, now: number): void {
  sql.run`UPDATE bus_outbox SET due = ${now}
    WHERE channel = ${channel} AND lane = ${lane} AND state IN ('waiting', 'sending') AND state = 'waiting'
      AND due > ${now + longPauseMs}`;
}

/** False when no reply that was sent goes by that id. */
export function takeBackReply(
  sql: Sql,
  { channel, platformId }: { readonly channel: string; readonly platformId: string },
  { due, reason }: { readonly due: number; readonly reason: string },
): boolean {
  const { changes } = sql.run`UPDATE bus_outbox
    SET state = 'waiting', due = ${due}, reason = ${reason}, platform_id = NULL, doubt_since = NULL
    WHERE channel = ${channel} AND platform_id = ${platformId} AND state = 'sent'`;
  return Number(changes) > 0;
}

/** False for any state that is not final. */
export function sendAgain(sql: Sql, id: number, now: number): boolean {
  const { changes } = sql.run`UPDATE bus_outbox
    SET state = 'waiting', due = ${now}, at = ${now}, reported = 0, doubt_since = NULL
    WHERE id = ${id} AND state IN ('unknown', 'failed')`;
  return Number(changes) > 0;
}

export function unreportedReplies(sql: Sql, channel: string, limit: number): readonly BusReply[] {
  return sql.all`SELECT * FROM bus_outbox
    WHERE channel = ${channel} AND state IN ('unknown', 'failed') AND reported = 0 ORDER BY id LIMIT ${limit}`.map(
    replyOf,
  );
}

/** False when it was settled before. */
export function markReported(sql: Sql, id: number): boolean {
  const { changes } = sql.run`UPDATE bus_outbox SET reported = 1
    WHERE id = ${id} AND state IN ('unknown', 'failed') AND reported = 0`;
  return Number(changes) > 0;
}

export function undeliveredReplies(sql: Sql, lane: string, limit: number): readonly BusReply[] {
  return sql.all`SELECT * FROM bus_outbox
    WHERE lane = ${lane} AND state IN ('unknown', 'failed') ORDER BY id DESC LIMIT ${limit}`.map(replyOf);
}

/** Keys are looked up in their index. */
export function lastReplyOf(sql: Sql, keyStart: string): BusReply | undefined {
  const row = sql.get`SELECT * FROM bus_outbox
    WHERE key >= ${keyStart} AND key < ${`${keyStart}\u{10ffff}`} ORDER BY id DESC LIMIT 1`;
  return row && replyOf(row);
}

export function replyRow(sql: Sql, id: number): BusReply {
  return replyOf(sql.get`SELECT * FROM bus_outbox WHERE id = ${id}`);
}
