import type { BusMessage, Claim, ClaimOptions, Ending, NewMessage, Retry } from '../../../core/bus.ts';
import { GeodeError } from '../../../core/errors.ts';
import { messageOf } from '../rows.ts';
import type { Transaction } from './database.ts';

/** The inbox's statements on PostgreSQL, each for a transaction that its caller has begun. */

export async function storeMessage(
  sql: Transaction,
  message: NewMessage,
  now: number,
): Promise<{ id: number; isNew: boolean }> {
  const { lane, home = lane, user, key, kind, body, due = now } = message;
  const state = due > now ? 'delayed' : 'waiting';
  const row =
    await sql.get`INSERT INTO bus_inbox (lane, home, "user", key, kind, body, state, position, due, at)
    VALUES (${lane}, ${home}, ${user}, ${key}, ${kind}, ${body}, ${state}, nextval('bus_positions'), ${due}, ${now})
    ON CONFLICT (key) DO NOTHING RETURNING id`;
  if (row === undefined) {
    const known = await sql.get`SELECT id FROM bus_inbox WHERE key = ${key}`;
    return { id: Number(known?.id), isNew: false };
  }
  const id = Number(row.id);
  await sql.run`INSERT INTO bus_log (lane, at, message) VALUES (${lane}, ${now}, ${id})`;
  return { id, isNew: true };
}

export interface Claimant {
  readonly host: string;
  /** How long a host that is not heard of keeps its lanes. */
  readonly keepMs: number;
}

/** For one host at a time: what one sees waiting, no other claims meanwhile. */
export async function claimNext(
  sql: Transaction,
  { kinds, leaseMs, mostPerUser = Number.MAX_SAFE_INTEGER, lanes = [''] }: ClaimOptions,
  { host, keepMs }: Claimant,
  now: number,
): Promise<Claim | undefined> {
  await sql.run`INSERT INTO bus_hosts VALUES (${host}, ${now + keepMs})
    ON CONFLICT (id) DO UPDATE SET until = excluded.until`;
  await giveBackExpired(sql, now);
  await joinDelayed(sql, now);
  const row = await sql.get`SELECT id, home FROM (
      SELECT id, kind, home, position,
        (SELECT count(*) FROM bus_inbox AS own
          WHERE own."user" = head."user" AND own.state = 'running' AND own.kind <> 'control') AS running,
        (SELECT max(epoch) FROM bus_inbox AS own WHERE own."user" = head."user") AS served
      FROM bus_inbox AS head
      WHERE state = 'waiting' AND due <= ${now} AND kind = ANY (${kinds})
        AND EXISTS (SELECT 1 FROM unnest(${lanes}::text[]) AS begins WHERE starts_with(head.lane, begins))
        AND NOT EXISTS (SELECT 1 FROM bus_inbox AS older
          WHERE older.lane = head.lane AND older.state IN ('waiting', 'running')
            AND older.position < head.position)
        AND NOT EXISTS (SELECT 1 FROM bus_homes JOIN bus_hosts ON bus_hosts.id = bus_homes.host
          WHERE bus_homes.home = head.home AND bus_homes.host <> ${host} AND bus_hosts.until > ${now})) AS heads
    WHERE kind = 'control' OR running < ${mostPerUser}
    ORDER BY kind <> 'control', kind = 'scheduled', running, served, position LIMIT 1`;
  if (row === undefined) return undefined;
  await sql.run`INSERT INTO bus_homes VALUES (${String(row.home)}, ${host})
    ON CONFLICT (home) DO UPDATE SET host = excluded.host`;
  const claimed = await sql.get`UPDATE bus_inbox SET state = 'running', epoch = nextval('bus_epochs'),
      tries = tries + 1, lease_until = ${now + leaseMs}
    WHERE id = ${Number(row.id)} RETURNING *`;
  return { message: messageOf(claimed), epoch: Number(claimed?.epoch) };
}

async function giveBackExpired(sql: Transaction, now: number): Promise<void> {
  const reason = 'The worker that had it did not end it in time.';
  await sql.run`UPDATE bus_inbox SET state = 'waiting', reason = ${reason}
    WHERE state = 'running' AND lease_until <= ${now}`;
}

/** Delayed messages join their lanes in the order in which they are due. */
async function joinDelayed(sql: Transaction, now: number): Promise<void> {
  const due =
    await sql.all`SELECT id FROM bus_inbox WHERE state = 'delayed' AND due <= ${now} ORDER BY due, id`;
  for (const { id } of due)
    await sql.run`UPDATE bus_inbox SET state = 'waiting', position = nextval('bus_positions')
      WHERE id = ${Number(id)}`;
}

export async function renewLease(sql: Transaction, claim: Claim, leaseUntil: number): Promise<void> {
  const changed = await sql.run`UPDATE bus_inbox SET lease_until = ${leaseUntil}
    WHERE id = ${claim.message.id} AND epoch = ${claim.epoch} AND state = 'running'`;
  checkHeld(changed, claim);
}

export async function storeDraft(sql: Transaction, claim: Claim, platformId: string): Promise<void> {
  const changed = await sql.run`UPDATE bus_inbox SET draft = ${platformId}
    WHERE id = ${claim.message.id} AND epoch = ${claim.epoch} AND state = 'running'`;
  checkHeld(changed, claim);
}

export async function endMessage(sql: Transaction, claim: Claim, { state, record }: Ending): Promise<void> {
  const changed = await sql.run`UPDATE bus_inbox SET state = ${state}, record = ${record ?? null}
    WHERE id = ${claim.message.id} AND epoch = ${claim.epoch} AND state = 'running'`;
  checkHeld(changed, claim);
}

export async function giveBack(
  sql: Transaction,
  claim: Claim,
  { due, reason, isNoTry = false }: Retry,
): Promise<void> {
  const changed = await sql.run`UPDATE bus_inbox
    SET state = 'waiting', due = ${due}, reason = ${reason}, tries = tries - ${isNoTry ? 1 : 0}
    WHERE id = ${claim.message.id} AND epoch = ${claim.epoch} AND state = 'running'`;
  checkHeld(changed, claim);
}

/** False when the message was claimed or has ended, or is not known. */
export async function amendMessage(
  sql: Transaction,
  key: string,
  change: (body: string) => string | undefined,
): Promise<boolean> {
  const row = await sql.get`SELECT id, body FROM bus_inbox
    WHERE key = ${key} AND state IN ('waiting', 'delayed') AND tries = 0 FOR UPDATE`;
  const body = row && change(String(row.body));
  if (row === undefined || body === undefined) return false;
  await sql.run`UPDATE bus_inbox SET body = ${body} WHERE id = ${Number(row.id)}`;
  return true;
}

export async function reopenMessage(
  sql: Transaction,
  id: number,
  user: string,
  now: number,
): Promise<boolean> {
  const changed = await sql.run`UPDATE bus_inbox
    SET state = 'waiting', "user" = ${user}, due = ${now}, tries = 0, record = NULL,
      position = nextval('bus_positions')
    WHERE id = ${id} AND state = 'stopped'`;
  return changed > 0;
}

function checkHeld(changed: number, { message }: Claim): void {
  if (changed === 0)
    throw new GeodeError('lease_lost', `The lease of message ${message.id} ended before its work did.`);
}

export async function placeOf(
  sql: Transaction,
  id: number,
): Promise<{ lane: number; all: number } | undefined> {
  const row = await sql.get`SELECT
      (SELECT count(*) FROM bus_inbox AS older WHERE older.lane = own.lane
        AND older.state IN ('waiting', 'running') AND older.position < own.position) AS lane,
      (SELECT count(*) FROM bus_inbox AS older WHERE older.kind = own.kind
        AND older.state IN ('waiting', 'running') AND older.position < own.position) AS everywhere
    FROM bus_inbox AS own WHERE id = ${id} AND state = 'waiting'`;
  return row && { lane: Number(row.lane), all: Number(row.everywhere) };
}

export async function messageRow(sql: Transaction, id: number): Promise<BusMessage | undefined> {
  const row = await sql.get`SELECT * FROM bus_inbox WHERE id = ${id}`;
  return row && messageOf(row);
}
