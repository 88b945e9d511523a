import type { BusMessage, Claim, ClaimOptions, Ending, NewMessage, Retry } from '../../core/bus.ts';
import { GeodeError } from '../../core/errors.ts';
import type { Sql } from '../../ledger/connection.ts';
import { messageOf } from './rows.ts';

/**
 * The inbox's statements, each for a transaction that its caller has begun. SQLite takes an index of some rows only
 * where a statement repeats the words that chose them, so that the cost of none grows with what was answered before.
 */

export function storeMessage(sql: Sql, message: NewMessage, now: number): { id: number; isNew: boolean } {
  const { lane, user, key, kind, body, due = now } = message;
  const known = sql.get`SELECT id FROM bus_inbox WHERE key = ${key}`;
  if (known !== undefined) return { id: Number(known.id), isNew: false };
  const state = due > now ? 'delayed' : 'waiting';
  const { lastInsertRowid } =
    sql.run`INSERT INTO bus_inbox (lane, user, key, kind, body, state, position, due, at)
    VALUES (${lane}, ${user}, ${key}, ${kind}, ${body}, ${state},
      (SELECT coalesce(max(position), 0) + 1 FROM bus_inbox), ${due}, ${now})`;
  const id = Number(lastInsertRowid);
  sql.run`INSERT INTO bus_log (lane, at, message) VALUES (${lane}, ${now}, ${id})`;
  return { id, isNew: true };
}

export function claimNext(sql: Sql, options: ClaimOptions, now: number): Claim | undefined {
  giveBackExpired(sql, now);
  joinDelayed(sql, now);
  const { kinds, leaseMs, mostPerUser = Number.MAX_SAFE_INTEGER, lanes = [''] } = options;
  const head = sql.get`SELECT id FROM (
      SELECT id, kind, user, position,
        (SELECT count(*) FROM bus_inbox AS own INDEXED BY bus_inbox_state
          WHERE own.state IN ('waiting', 'running', 'delayed') AND own.state = 'running'
            AND own.user = head.user AND own.kind <> 'control') AS running,
        (SELECT max(epoch) FROM bus_inbox AS own WHERE own.user = head.user) AS served
      FROM bus_inbox AS head INDEXED BY bus_inbox_state
      WHERE state IN ('waiting', 'running', 'delayed') AND state = 'waiting' AND due <= ${now}
        AND kind IN (SELECT value FROM json_each(${JSON.stringify(kinds)}))
        AND EXISTS (SELECT 1 FROM json_each(${JSON.stringify(lanes)})
          WHERE substr(head.lane, 1, length(value)) = value)
        AND NOT EXISTS (SELECT 1 FROM bus_inbox AS older
          WHERE older.lane = head.lane AND older.state IN ('waiting', 'running')
            AND older.position < head.position))
    WHERE kind = 'control' OR running < ${mostPerUser}
    ORDER BY kind <> 'control', kind = 'scheduled', running, served, position LIMIT 1`;
  if (head === undefined) return undefined;
  const epoch = Number(sql.get`SELECT coalesce(max(epoch), 0) + 1 AS next FROM bus_inbox`?.next);
  const row = sql.get`UPDATE bus_inbox
    SET state = 'running', epoch = ${epoch}, tries = tries + 1, lease_until = ${now + leaseMs}
    WHERE id = ${Number(head.id)} RETURNING *`;
  return { message: messageOf(row), epoch };
}

function giveBackExpired(sql: Sql, now: number): void {
  const reason = 'The worker that had it did not end it in time.';
  sql.run`UPDATE bus_inbox SET state = 'waiting', reason = ${reason}
    WHERE state IN ('waiting', 'running', 'delayed') AND state = 'running' AND lease_until <= ${now}`;
}

/** Delayed messages join their lanes in the order in which they are due. */
function joinDelayed(sql: Sql, now: number): void {
  const due = sql.all`SELECT id FROM bus_inbox
    WHERE state IN ('waiting', 'running', 'delayed') AND state = 'delayed' AND due <= ${now} ORDER BY due, id`;
  for (const { id } of due) {
    sql.run`UPDATE bus_inbox SET state = 'waiting',
      position = (SELECT max(position) + 1 FROM bus_inbox) WHERE id = ${Number(id)}`;
  }
}

export function renewLease(sql: Sql, claim: Claim, leaseUntil: number): void {
  const { changes } = sql.run`UPDATE bus_inbox SET lease_until = ${leaseUntil}
    WHERE id = ${claim.message.id} AND epoch = ${claim.epoch} AND state = 'running'`;
  checkHeld(changes, claim);
}

export function storeDraft(sql: Sql, claim: Claim, platformId: string): void {
  const { changes } = sql.run`UPDATE bus_inbox SET draft = ${platformId}
    WHERE id = ${claim.message.id} AND epoch = ${claim.epoch} AND state = 'running'`;
  checkHeld(changes, claim);
}

export function endMessage(sql: Sql, claim: Claim, { state, record }: Ending): void {
  const { changes } = sql.run`UPDATE bus_inbox SET state = ${state}, record = ${record ?? null}
    WHERE id = ${claim.message.id} AND epoch = ${claim.epoch} AND state = 'running'`;
  checkHeld(changes, claim);
}

export function giveBack(sql: Sql, claim: Claim, { due, reason, isNoTry = false }: Retry): void {
  const { changes } = sql.run`UPDATE bus_inbox
    SET state = 'waiting', due = ${due}, reason = ${reason}, tries = tries - ${isNoTry ? 1 : 0}
    WHERE id = ${claim.message.id} AND epoch = ${claim.epoch} AND state = 'running'`;
  checkHeld(changes, claim);
}

/** False when the message was claimed or has ended, or is not known. */
export function amendMessage(sql: Sql, key: string, change: (body: string) => string | undefined): boolean {
  const row = sql.get`SELECT id, body FROM bus_inbox
    WHERE key = ${key} AND state IN ('waiting', 'delayed') AND tries = 0`;
  const body = row && change(String(row.body));
  if (row === undefined || body === undefined) return false;
  sql.run`UPDATE bus_inbox SET body = ${body} WHERE id = ${Number(row.id)}`;
  return true;
}

export function reopenMessage(sql: Sql, id: number, user: string, now: number): boolean {
  const { changes } = sql.run`UPDATE bus_inbox
    SET state = 'waiting', user = ${user}, due = ${now}, tries = 0, record = NULL,
      position = (SELECT max(position) + 1 FROM bus_inbox)
    WHERE id = ${id} AND state = 'stopped'`;
  return Number(changes) > 0;
}

function checkHeld(changes: number | bigint, { message }: Claim): void {
  if (Number(changes) === 0)
    throw new GeodeError('lease_lost', `The lease of message ${message.id} ended before its work did.`);
}

export function placeOf(sql: Sql, id: number): { lane: number; all: number } | undefined {
  const row = sql.get`SELECT
      (SELECT count(*) FROM bus_inbox AS older WHERE older.lane = own.lane
        AND older.state IN ('waiting', 'running') AND older.position < own.position) AS lane,
      (SELECT count(*) FROM bus_inbox AS older INDEXED BY bus_inbox_open WHERE older.kind = own.kind
        AND older.state IN ('waiting', 'running') AND older.position < own.position) AS everywhere
    FROM bus_inbox AS own WHERE id = ${id} AND state = 'waiting'`;
  return row && { lane: Number(row.lane), all: Number(row.everywhere) };
}

export function messageRow(sql: Sql, id: number): BusMessage | undefined {
  const row = sql.get`SELECT * FROM bus_inbox WHERE id = ${id}`;
  return row && messageOf(row);
}
