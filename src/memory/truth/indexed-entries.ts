/** What the indexes read from the truth: entries in their indexed form, and which of them changed. */
import type { IndexedEntry } from '../index/embedded/namespace-index.ts';
import { bytesOf, numberOf, numberOrNull, type Row, textOf, textOrNull, textsOf } from './columns.ts';
import type { Sql } from './truth.ts';

export interface Change {
  readonly seq: number;
  readonly id: number;
}

export function lastChange(sql: Sql): number {
  return numberOf(sql.get`SELECT coalesce(max(seq), 0) AS seq FROM changes` ?? {}, 'seq');
}

export function changesOf(sql: Sql, namespace: string, after: number): Change[] {
  return sql.all`SELECT seq, entry FROM changes WHERE namespace = ${namespace} AND seq > ${after} ORDER BY seq`.map(
    (row) => ({ seq: numberOf(row, 'seq'), id: numberOf(row, 'entry') }),
  );
}

export function changesAfter(sql: Sql, after: number, limit: number): Change[] {
  return sql.all`SELECT seq, entry FROM changes WHERE seq > ${after} ORDER BY seq LIMIT ${limit}`.map(
    (row) => ({
      seq: numberOf(row, 'seq'),
      id: numberOf(row, 'entry'),
    }),
  );
}

export function countChanges(sql: Sql, after: number): number {
  return numberOf(sql.get`SELECT count(*) AS n FROM changes WHERE seq > ${after}` ?? {}, 'n');
}

export interface LocatedEntry extends IndexedEntry {
  readonly namespace: string;
  readonly key: string;
}

/** Null when there is none, or when a newer one took its place. */
export function indexedEntry(sql: Sql, id: number, model: number | null): LocatedEntry | null {
  const row = sql.get`
    SELECT id, namespace, key, category, valid_until, superseded_by, words, model,
      (SELECT json_group_array(kind || ':' || value) FROM labels
        WHERE entry = e.id AND kind IN ('tag', 'source')) AS labels
    FROM entries e WHERE id = ${id}`;
  return row === undefined ? null : indexedOf(sql, row, model);
}

export function* indexedEntries(sql: Sql, namespace: string, model: number | null): Generator<LocatedEntry> {
  const ids = sql.all`SELECT id FROM entries WHERE namespace = ${namespace} ORDER BY id`;
  for (const row of ids) {
    const entry = indexedEntry(sql, numberOf(row, 'id'), model);
    if (entry !== null) yield entry;
  }
}

function indexedOf(sql: Sql, row: Row, model: number | null): LocatedEntry | null {
  if (textOrNull(row, 'superseded_by') !== null) return null;
  const id = numberOf(row, 'id');
  return {
    id,
    namespace: textOf(row, 'namespace'),
    key: textOf(row, 'key'),
    validUntil: numberOrNull(row, 'valid_until'),
    labels: [`category:${textOf(row, 'category')}`, ...textsOf(row, 'labels')],
    words: bytesOf(row, 'words'),
    vectors: model !== null && numberOrNull(row, 'model') === model ? vectorsOf(sql, id) : [],
  };
}

function vectorsOf(sql: Sql, id: number): Uint8Array[] {
  return sql.all`SELECT vector FROM vectors WHERE entry = ${id} ORDER BY chunk`.map((row) =>
    bytesOf(row, 'vector'),
  );
}

export function countIn(sql: Sql, namespace: string): number {
  return numberOf(sql.get`SELECT count(*) AS n FROM entries WHERE namespace = ${namespace}` ?? {}, 'n');
}
