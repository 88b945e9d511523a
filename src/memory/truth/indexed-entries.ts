/** Reads entries for the indexes: entries in indexed form, and the ids of changed ones. */
import type { IndexedEntry } from '../index/embedded/namespace-index.ts';
import { bytesOf, numberOf, numberOrNull, type Row, textOf, textsOf } from './columns.ts';
import { prepared } from './filtered.ts';
import type { Sql } from './truth.ts';

export interface EntryChange {
  readonly seq: number;
  readonly id: number;
}

export function lastChange(sql: Sql): number {
  return numberOf(sql.get`SELECT coalesce(max(seq), 0) AS seq FROM changes` ?? {}, 'seq');
}

export function changesIn(sql: Sql, namespace: string, after: number): EntryChange[] {
  return sql.all`SELECT seq, entry FROM changes WHERE namespace = ${namespace} AND seq > ${after} ORDER BY seq`.map(
    (row) => ({ seq: numberOf(row, 'seq'), id: numberOf(row, 'entry') }),
  );
}

export function changesAfter(sql: Sql, after: number, limit: number): EntryChange[] {
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

/** Null if there is no such entry, or if a newer one replaced it. */
export function indexedEntry(sql: Sql, id: number, model: number | null): LocatedEntry | null {
  const rows = prepared(sql, `${INDEXED} WHERE e.id = :id AND e.superseded_by IS NULL ORDER BY v.chunk`);
  return entriesFrom(rows.all({ model, id })).next().value ?? null;
}

/** Entries of the namespace by id, except replaced ones. */
export function indexedEntries(
  sql: Sql,
  namespace: string,
  model: number | null,
): Generator<LocatedEntry, undefined> {
  const query = `${INDEXED} WHERE e.namespace = :namespace AND e.superseded_by IS NULL ORDER BY e.id, v.chunk`;
  return entriesFrom(prepared(sql, query).iterate({ model, namespace }));
}

/** A row for each vector of the model, or one row without a vector. */
const INDEXED = `
  SELECT e.id, e.namespace, e.key, e.category, e.valid_until, e.words, e.near, v.vector,
    (SELECT json_group_array(kind || ':' || value) FROM labels
      WHERE entry = e.id AND kind IN ('tag', 'source')) AS labels
  FROM entries e LEFT JOIN vectors v ON v.entry = e.id AND e.model = :model`;

function* entriesFrom(rows: Iterable<Row>): Generator<LocatedEntry, undefined> {
  let first: Row | null = null;
  let vectors: Uint8Array[] = [];
  for (const row of rows) {
    if (first !== null && first.id !== row.id) {
      yield entryOf(first, vectors);
      vectors = [];
      first = null;
    }
    first ??= row;
    if (row.vector !== null) vectors.push(bytesOf(row, 'vector'));
  }
  if (first !== null) yield entryOf(first, vectors);
}

function entryOf(row: Row, vectors: readonly Uint8Array[]): LocatedEntry {
  return {
    id: numberOf(row, 'id'),
    namespace: textOf(row, 'namespace'),
    key: textOf(row, 'key'),
    validUntil: numberOrNull(row, 'valid_until'),
    labels: [`category:${textOf(row, 'category')}`, ...textsOf(row, 'labels')],
    words: bytesOf(row, 'words'),
    near: bytesOf(row, 'near'),
    vectors,
  };
}

export function countIn(sql: Sql, namespace: string): number {
  return numberOf(sql.get`SELECT count(*) AS n FROM entries WHERE namespace = ${namespace}` ?? {}, 'n');
}
