import { GeodeError } from '../../base/errors.ts';
import type { BusMessage, Claim, ClaimOptions, Ending, NewMessage, Retry } from '../../seams/bus.ts';
import type { Dialect } from './dialect.ts';
import { messageOf } from './rows.ts';
import { all, type Fragment, get, run, sql, type Work } from './statements.ts';

/**
 * The SQL statements of the inbox, each for a transaction that its caller has started. SQLite uses a partial index
 * only if a statement repeats the index's condition. With these indexes no cost grows with the number of answered
 * messages.
 */
const open = sql`state IN ('waiting', 'running', 'delayed')`;
const inLane = sql`state IN ('waiting', 'running')`;

export function* storeMessage(
  { nextPosition }: Dialect,
  message: NewMessage,
  now: number,
): Work<{ id: number; isNew: boolean }> {
  const { lane, home = lane, user, key, kind, body, due = now } = message;
  const state = due > now ? 'delayed' : 'waiting';
  const row = yield* get`INSERT INTO bus_inbox (lane, home, "user", key, kind, body, state, position, due, at)
    VALUES (${lane}, ${home}, ${user}, ${key}, ${kind}, ${body}, ${state}, ${nextPosition}, ${due}, ${now})
    ON CONFLICT (key) DO NOTHING RETURNING id`;
  if (row === undefined) {
    const known = yield* get`SELECT id FROM bus_inbox WHERE key = ${key}`;
    return { id: Number(known?.id), isNew: false };
  }
  const id = Number(row.id);
  yield* run`INSERT INTO bus_log (lane, at, message) VALUES (${lane}, ${now}, ${id})`;
  return { id, isNew: true };
}

/** For one host at a time: no other host claims the messages that this one reads. */
export function* claimNext(
  { nextEpoch, nextPosition, index, list, hosts }: Dialect,
  { kinds, leaseMs, mostPerUser = Number.MAX_SAFE_INTEGER, lanes = [''] }: ClaimOptions,
  now: number,
): Work<Claim | undefined> {
  yield* hosts.renew(now);
  yield* giveBackExpired(now);
  yield* joinDelayed(nextPosition, now);
  const head = yield* get`SELECT id, home FROM (
      SELECT id, kind, home, position,
        (SELECT count(*) FROM bus_inbox AS own ${index('bus_inbox_state')}
          WHERE own.state IN ('waiting', 'running', 'delayed') AND own.state = 'running'
            AND own."user" = head."user" AND own.kind <> 'control') AS running,
        (SELECT max(epoch) FROM bus_inbox AS own WHERE own."user" = head."user") AS served
      FROM bus_inbox AS head ${index('bus_inbox_state')}
      WHERE ${open} AND state = 'waiting' AND due <= ${now} AND kind IN (${list(kinds)})
        AND EXISTS (SELECT 1 FROM (${list(lanes)}) AS begins
          WHERE substr(head.lane, 1, length(begins.value)) = begins.value)
        AND NOT EXISTS (SELECT 1 FROM bus_inbox AS older
          WHERE older.lane = head.lane AND older.state IN ('waiting', 'running')
            AND older.position < head.position)
        AND ${hosts.isFree(now)}) AS heads
    WHERE kind = 'control' OR running < ${mostPerUser}
    ORDER BY kind <> 'control', kind = 'scheduled', running, served, position LIMIT 1`;
  if (head === undefined) return undefined;
  yield* hosts.take(String(head.home));
  const row = yield* get`UPDATE bus_inbox
    SET state = 'running', epoch = ${nextEpoch}, tries = tries + 1, lease_until = ${now + leaseMs}
    WHERE id = ${Number(head.id)} RETURNING *`;
  return { message: messageOf(row), epoch: Number(row?.epoch) };
}

function* giveBackExpired(now: number): Work<void> {
  const reason = 'The worker did not finish it in time.';
  yield* run`UPDATE bus_inbox SET state = 'waiting', reason = ${reason}
    WHERE ${open} AND state = 'running' AND lease_until <= ${now}`;
}

/** Delayed messages join their lanes in the order of their due times. */
function* joinDelayed(nextPosition: Fragment, now: number): Work<void> {
  const due = yield* all`SELECT id FROM bus_inbox
    WHERE ${open} AND state = 'delayed' AND due <= ${now} ORDER BY due, id`;
  for (const { id } of due)
    yield* run`UPDATE bus_inbox SET state = 'waiting', position = ${nextPosition} WHERE id = ${Number(id)}`;
}

/** Throws `lease_lost` if another claim or an end came first. */
function* ofClaim({ message, epoch }: Claim, change: Fragment): Work<void> {
  const changes = yield* run`UPDATE bus_inbox SET ${change}
    WHERE id = ${message.id} AND epoch = ${epoch} AND state = 'running'`;
  if (changes === 0)
    throw new GeodeError('lease_lost', `The lease of message ${message.id} ended before its work was done.`);
}

export const renewLease = (claim: Claim, leaseUntil: number) =>
  ofClaim(claim, sql`lease_until = ${leaseUntil}`);

export const storeDraft = (claim: Claim, platformId: string) => ofClaim(claim, sql`draft = ${platformId}`);

export const endMessage = (claim: Claim, { state, record }: Ending) =>
  ofClaim(claim, sql`state = ${state}, record = ${record ?? null}`);

export const giveBack = (claim: Claim, { due, reason, isNoTry = false }: Retry) =>
  ofClaim(
    claim,
    sql`state = 'waiting', due = ${due}, reason = ${reason}, tries = tries - ${isNoTry ? 1 : 0}`,
  );

/** Returns false if the message was claimed, has ended, or is unknown. */
export function* amendMessage(
  { forUpdate }: Dialect,
  key: string,
  change: (body: string) => string | undefined,
): Work<boolean> {
  const row = yield* get`SELECT id, body FROM bus_inbox
    WHERE key = ${key} AND state IN ('waiting', 'delayed') AND tries = 0 ${forUpdate}`;
  const body = row && change(String(row.body));
  if (row === undefined || body === undefined) return false;
  yield* run`UPDATE bus_inbox SET body = ${body} WHERE id = ${Number(row.id)}`;
  return true;
}

export function* reopenMessage(
  { nextPosition }: Dialect,
  id: number,
  user: string,
  now: number,
): Work<boolean> {
  const changes = yield* run`UPDATE bus_inbox
    SET state = 'waiting', "user" = ${user}, due = ${now}, tries = 0, record = NULL, position = ${nextPosition}
    WHERE id = ${id} AND state = 'stopped'`;
  return changes > 0;
}

/** Returns how many messages it stopped. */
export const dropWaiting = (lane: string) =>
  run`UPDATE bus_inbox SET state = 'stopped' WHERE lane = ${lane} AND state IN ('waiting', 'delayed')`;

/** Returns messages in progress of an earlier host to their lanes. */
export const giveBackAll = (reason: string) =>
  run`UPDATE bus_inbox SET state = 'waiting', reason = ${reason} WHERE ${open} AND state = 'running'`;

export function* queuePlaceOf(
  { index }: Dialect,
  id: number,
): Work<{ lane: number; all: number } | undefined> {
  const row = yield* get`SELECT
      (SELECT count(*) FROM bus_inbox AS older WHERE older.lane = own.lane
        AND older.state IN ('waiting', 'running') AND older.position < own.position) AS lane,
      (SELECT count(*) FROM bus_inbox AS older ${index('bus_inbox_open')} WHERE older.kind = own.kind
        AND older.state IN ('waiting', 'running') AND older.position < own.position) AS everywhere
    FROM bus_inbox AS own WHERE id = ${id} AND state = 'waiting'`;
  return row && { lane: Number(row.lane), all: Number(row.everywhere) };
}

export function* messageRow(id: number): Work<BusMessage | undefined> {
  const row = yield* get`SELECT * FROM bus_inbox WHERE id = ${id}`;
  return row && messageOf(row);
}

export function* waitingMessages(lane: string, limit: number): Work<readonly BusMessage[]> {
  const rows = yield* all`SELECT * FROM bus_inbox
    WHERE lane = ${lane} AND ${inLane} AND state = 'waiting' ORDER BY position LIMIT ${limit}`;
  return rows.map(messageOf);
}

export function* endedMessages(lane: string, after: number, limit: number): Work<readonly BusMessage[]> {
  const rows = yield* all`SELECT * FROM (SELECT * FROM bus_inbox
      WHERE lane = ${lane} AND id > ${after} AND state IN ('done', 'failed', 'stopped')
      ORDER BY id DESC LIMIT ${limit}) AS latest ORDER BY id`;
  return rows.map(messageOf);
}
