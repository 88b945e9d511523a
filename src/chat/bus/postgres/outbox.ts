import type { BusReply, Delivery, NewReply, ReplyClaim } from '../../../core/bus.ts';
import { GeodeError } from '../../../core/errors.ts';
import { replyOf } from '../rows.ts';
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
  leaseMs: number,
  now: number,
): Promise<ReplyClaim | undefined> {
  const cutOff = 'The process that sent it did not say how it ended.';
  await sql.run`UPDATE bus_outbox
    SET state = CASE repeatable WHEN 1 THEN 'waiting' ELSE 'unknown' END, reason = ${cutOff}
    WHERE channel = ${channel} AND state = 'sending' AND lease_until <= ${now}`;
  const row = await sql.get`UPDATE bus_outbox
    SET state = 'sending', epoch = epoch + 1, tries = tries + 1, lease_until = ${now + leaseMs}
    WHERE id = (SELECT id FROM bus_outbox AS reply
      WHERE channel = ${channel} AND state = 'waiting' AND due <= ${now}
        AND NOT EXISTS (SELECT 1 FROM bus_outbox AS older
          WHERE older.channel = reply.channel AND older.lane = reply.lane
            AND older.state IN ('waiting', 'sending') AND older.id < reply.id)
      ORDER BY id LIMIT 1) RETURNING *`;
  return row && { reply: replyOf(row), epoch: Number(row.epoch) };
}

export async function recordDelivery(
  sql: Transaction,
  { reply, epoch }: ReplyClaim,
  delivery: Delivery,
): Promise<void> {
  const due = delivery.state === 'waiting' ? delivery.due : 0;
  const reason = delivery.state === 'sent' ? null : delivery.reason;
  const platformId = delivery.state === 'sent' ? delivery.platformId : null;
  const changed = await sql.run`UPDATE bus_outbox
    SET state = ${delivery.state}, due = ${due}, reason = ${reason}, platform_id = ${platformId}
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

export async function replyRow(sql: Transaction, id: number): Promise<BusReply> {
  return replyOf(await sql.get`SELECT * FROM bus_outbox WHERE id = ${id}`);
}
