import type { BusReply, Delivery, NewReply, ReplyClaim } from '../../../core/bus.ts';
import { GeodeError } from '../../../core/errors.ts';
import { claimedReply, replyOf } from '../rows.ts';
import type { Transaction } from './database.ts';

/** The outbox's statements on PostgreSQL, each for a transaction that its caller has begun. */

/** False for a key that is known. */
export async function storeReply(
  sql: Transaction,
  { channel, lane, key, body, isRepeatable = false }: NewReply,
  now: number,
): Promise<boolean> {
  const row = await sql.get`INSERT INTO bus_outbox (channel, lane, key, body, state, due, at, repeatable)
    VALUES (${channel}, ${lane}, ${key}, ${body}, 'waiting', ${now}, ${now}, ${isRepeatable ? 1 : 0})
    ON CONFLICT (key) DO NOTHING RETURNING id`;
  if (row === undefined) return false;
  await sql.run`INSERT INTO bus_log (lane, at, reply) VALUES (${lane}, ${now}, ${Number(row.id)})`;
  return true;
}

/** For one host at a time, as the claim of a message is. */
export async function claimNextReply(
  sql: Transaction,
  channel: string,
  { leaseMs, repeatMs }: { readonly leaseMs: number; readonly repeatMs: number },
  now: number,
): Promise<ReplyClaim | undefined> {
  const cutOff = 'The process that sent it did not say how it ended.';
  await sql.run`UPDATE bus_outbox
    SET state = CASE WHEN repeatable = 1 OR doubt_since + repeat_ms > ${now} THEN 'waiting' ELSE 'unknown' END,
      reason = ${cutOff}
    WHERE channel = ${channel} AND state = 'sending' AND lease_until <= ${now}`;
  const head = await sql.get`SELECT id, doubt_since FROM bus_outbox AS reply
    WHERE channel = ${channel} AND state = 'waiting' AND due <= ${now}
      AND NOT EXISTS (SELECT 1 FROM bus_outbox AS older
        WHERE older.channel = reply.channel AND older.lane = reply.lane
          AND older.state IN ('waiting', 'sending') AND older.id < reply.id)
    ORDER BY id LIMIT 1`;
  if (head === undefined) return undefined;
  const row = await sql.get`UPDATE bus_outbox
    SET state = 'sending', epoch = epoch + 1, tries = tries + 1, lease_until = ${now + leaseMs},
      repeat_ms = ${repeatMs}, doubt_since = coalesce(doubt_since, ${now})
    WHERE id = ${Number(head.id)} RETURNING *`;
  return row && { reply: claimedReply(row, head.doubt_since), epoch: Number(row.epoch) };
}

export async function recordDelivery(
  sql: Transaction,
  { reply, epoch }: ReplyClaim,
  delivery: Delivery,
): Promise<void> {
  const due = delivery.state === 'waiting' ? delivery.due : 0;
  const reason = delivery.state === 'sent' ? null : delivery.reason;
  const platformId = delivery.state === 'sent' ? delivery.platformId : null;
  const isCertain = delivery.state === 'waiting' && delivery.isInDoubt !== true;
  const changed = await sql.run`UPDATE bus_outbox
    SET state = ${delivery.state}, due = ${due}, reason = ${reason}, platform_id = ${platformId},
      doubt_since = CASE ${isCertain ? 1 : 0}::int WHEN 1 THEN ${reply.inDoubtSince}::bigint ELSE doubt_since END
    WHERE id = ${reply.id} AND epoch = ${epoch} AND state = 'sending'`;
  checkHeld(changed, reply);
}

export async function renewSending(
  sql: Transaction,
  { reply, epoch }: ReplyClaim,
  leaseUntil: number,
): Promise<void> {
  const changed = await sql.run`UPDATE bus_outbox SET lease_until = ${leaseUntil}
    WHERE id = ${reply.id} AND epoch = ${epoch} AND state = 'sending'`;
  checkHeld(changed, reply);
}

function checkHeld(changed: number, { id }: BusReply): void {
  if (changed === 0) throw new GeodeError('lease_lost', `The lease of reply ${id} ended before it was sent.`);
}

export async function hasUnsent(sql: Transaction, channel: string, lane: string): Promise<boolean> {
  const row = await sql.get`SELECT 1 FROM bus_outbox
    WHERE channel = ${channel} AND lane = ${lane} AND state IN ('waiting', 'sending') LIMIT 1`;
  return row !== undefined;
}

const longPauseMs = 10_000;

export async function hurryReplies(
  sql: Transaction,
  channel: string,
  lane: string,
  now: number,
): Promise<void> {
  await sql.run`UPDATE bus_outbox SET due = ${now}
    WHERE channel = ${channel} AND lane = ${lane} AND state = 'waiting' AND due > ${now + longPauseMs}`;
}

/** False when no reply that was sent goes by that id. */
export async function takeBackReply(
  sql: Transaction,
  { channel, platformId }: { readonly channel: string; readonly platformId: string },
  { due, reason }: { readonly due: number; readonly reason: string },
): Promise<boolean> {
  const changed = await sql.run`UPDATE bus_outbox
    SET state = 'waiting', due = ${due}, reason = ${reason}, platform_id = NULL, doubt_since = NULL
    WHERE channel = ${channel} AND platform_id = ${platformId} AND state = 'sent'`;
  return changed > 0;
}

/** False for any state that is not final. */
export async function sendAgain(sql: Transaction, id: number, now: number): Promise<boolean> {
  const changed = await sql.run`UPDATE bus_outbox
    SET state = 'waiting', due = ${now}, at = ${now}, reported = 0, doubt_since = NULL
    WHERE id = ${id} AND state IN ('unknown', 'failed')`;
  return changed > 0;
}

export async function unreportedReplies(
  sql: Transaction,
  channel: string,
  limit: number,
): Promise<readonly BusReply[]> {
  const rows = await sql.all`SELECT * FROM bus_outbox
    WHERE channel = ${channel} AND state IN ('unknown', 'failed') AND reported = 0 ORDER BY id LIMIT ${limit}`;
  return rows.map(replyOf);
}

/** False when it was settled before. */
export async function markReported(sql: Transaction, id: number): Promise<boolean> {
  const changed = await sql.run`UPDATE bus_outbox SET reported = 1
    WHERE id = ${id} AND state IN ('unknown', 'failed') AND reported = 0`;
  return changed > 0;
}

export async function undeliveredReplies(
  sql: Transaction,
  lane: string,
  limit: number,
): Promise<readonly BusReply[]> {
  const rows = await sql.all`SELECT * FROM bus_outbox
    WHERE lane = ${lane} AND state IN ('unknown', 'failed') ORDER BY id DESC LIMIT ${limit}`;
  return rows.map(replyOf);
}

export async function lastReplyOf(sql: Transaction, keyStart: string): Promise<BusReply | undefined> {
  const row = await sql.get`SELECT * FROM bus_outbox
    WHERE starts_with(key, ${keyStart}) ORDER BY id DESC LIMIT 1`;
  return row && replyOf(row);
}

export async function replyRow(sql: Transaction, id: number): Promise<BusReply> {
  return replyOf(await sql.get`SELECT * FROM bus_outbox WHERE id = ${id}`);
}
