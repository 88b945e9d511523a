/**
 * The surroundings of an entry: its declared context, and the entries before and after it in its thread. Their words
 * are a second field of the entry, and the text before it affects its vector. Runs inside a transaction.
 */
import { wordCounts } from '../../base/words.ts';
import { markChanged } from './changes.ts';
import { numberOf, type Row, textOf, textOrNull } from './columns.ts';
import type { Sql } from './truth.ts';
import { packWords } from './word-blob.ts';

/** How much of a neighbour counts: distant parts of a long text say little. */
const NEAR_LENGTH = 2_000;

export interface ThreadPlace {
  readonly namespace: string;
  readonly thread: string;
  readonly position: number;
  readonly id: number;
}

/** Null for an entry without a thread. */
export function placeOf(sql: Sql, id: number): ThreadPlace | null {
  const row = sql.get`SELECT id, namespace, thread, position FROM entries WHERE id = ${id} AND thread IS NOT NULL`;
  return row === undefined ? null : placeIn(row);
}

/** After the last one of the thread. */
export function nextPosition(sql: Sql, namespace: string, thread: string): number {
  const row = sql.get`SELECT coalesce(max(position), 0) + 1 AS next FROM entries
    WHERE namespace = ${namespace} AND thread = ${thread}`;
  return numberOf(row ?? {}, 'next');
}

/** The words around the entry, from its context and its neighbours. */
export function writeNear(sql: Sql, id: number): void {
  const place = placeOf(sql, id);
  const row = sql.get`SELECT context FROM entries WHERE id = ${id}`;
  const texts = [
    row === undefined ? null : textOrNull(row, 'context'),
    place && (before(sql, place)?.text ?? null),
    place && (after(sql, place)?.text ?? null),
  ];
  const counts = wordCounts(texts.map((text) => (text ?? '').slice(0, NEAR_LENGTH)).join('\n'));
  sql.run`UPDATE entries SET near = ${packWords(counts)} WHERE id = ${id}`;
}

/**
 * Called when an entry enters, changes or leaves a place in a thread. Its neighbours then have other words around
 * them, and the next one has another text before it, so its vector is computed again.
 */
export function refreshAround(sql: Sql, place: ThreadPlace): void {
  const [earlier, later] = [before(sql, place), after(sql, place)];
  for (const neighbour of [earlier, later]) {
    if (neighbour === null) continue;
    writeNear(sql, neighbour.id);
    markChanged(sql, place.namespace, neighbour.id);
  }
  if (later !== null) sql.run`UPDATE entries SET model = NULL WHERE id = ${later.id} AND model IS NOT NULL`;
}

/** The text embedded together with the entry: the end of the previous entry, or else of its context. */
export function textBefore(sql: Sql, id: number): string | null {
  const place = placeOf(sql, id);
  const earlier = place && before(sql, place);
  if (earlier !== null) return earlier.text.slice(-BEFORE_LENGTH);
  const row = sql.get`SELECT context FROM entries WHERE id = ${id}`;
  return row === undefined ? null : (textOrNull(row, 'context')?.slice(-BEFORE_LENGTH) ?? null);
}

const BEFORE_LENGTH = 1_000;

interface Neighbour {
  readonly id: number;
  readonly text: string;
}

function before(sql: Sql, { namespace, thread, position, id }: ThreadPlace): Neighbour | null {
  const row = sql.get`
    SELECT id, coalesce(search_text, content) AS text FROM entries
    WHERE namespace = ${namespace} AND thread = ${thread} AND (position, id) < (${position}, ${id})
    ORDER BY position DESC, id DESC LIMIT 1`;
  return row === undefined ? null : neighbourOf(row);
}

function after(sql: Sql, { namespace, thread, position, id }: ThreadPlace): Neighbour | null {
  const row = sql.get`
    SELECT id, coalesce(search_text, content) AS text FROM entries
    WHERE namespace = ${namespace} AND thread = ${thread} AND (position, id) > (${position}, ${id})
    ORDER BY position, id LIMIT 1`;
  return row === undefined ? null : neighbourOf(row);
}

function neighbourOf(row: Row): Neighbour {
  return { id: numberOf(row, 'id'), text: textOf(row, 'text') };
}

function placeIn(row: Row): ThreadPlace {
  return {
    id: numberOf(row, 'id'),
    namespace: textOf(row, 'namespace'),
    thread: textOf(row, 'thread'),
    position: numberOf(row, 'position'),
  };
}
