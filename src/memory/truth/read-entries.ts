/** Reads entries of one namespace. */
import { categories, type Entry, type EntryVersion, type Explanation } from '../../seams/memory.ts';
import type { Search } from '../index/search-index.ts';
import {
  bytesOf,
  dateOrNull,
  numberOf,
  numberOrNull,
  type Row,
  textOf,
  textOrNull,
  textsOf,
} from './columns.ts';
import { filtered, PASSES } from './filtered.ts';
import type { Sql } from './truth.ts';
import { unpackWords } from './word-blob.ts';

export function readEntry(sql: Sql, namespace: string, key: string, now: number): Entry | null {
  const row = sql.get`SELECT * FROM entry_view WHERE namespace = ${namespace} AND key = ${key}`;
  return row === undefined ? null : entryOf(row, now);
}

/** By id. Leaves out entries that were removed or are in another namespace. */
export function readEntries(
  sql: Sql,
  namespace: string,
  ids: readonly number[],
  now: number,
): Map<number, Entry> {
  return new Map(rowsOfEntries(sql, namespace, ids).map((row) => [numberOf(row, 'id'), entryOf(row, now)]));
}

/** Reads entries by id, each with the hashes of its words. */
export function readWithWords(
  sql: Sql,
  namespace: string,
  ids: readonly number[],
  now: number,
): Map<number, { entry: Entry; words: ReadonlySet<number> }> {
  return new Map(
    rowsOfEntries(sql, namespace, ids).map((row) => [
      numberOf(row, 'id'),
      { entry: entryOf(row, now), words: wordsOf(row) },
    ]),
  );
}

/** The next entries of the namespace after an id, oldest first, each with the vector of its first chunk. */
export function entriesAfter(
  sql: Sql,
  namespace: string,
  { after, limit, model, now }: { after: number; limit: number; model: number | null; now: number },
): { id: number; entry: Entry; vector: Uint8Array | null }[] {
  const rows = sql.all`
    SELECT e.*, v.vector FROM entry_view e
      LEFT JOIN vectors v ON v.entry = e.id AND v.chunk = 0 AND e.model = ${model}
    WHERE e.namespace = ${namespace} AND e.id > ${after} ORDER BY e.id LIMIT ${limit}`;
  return rows.map((row) => ({
    id: numberOf(row, 'id'),
    entry: entryOf(row, now),
    vector: row.vector === null ? null : bytesOf(row, 'vector'),
  }));
}

function rowsOfEntries(sql: Sql, namespace: string, ids: readonly number[]): Row[] {
  return sql.all`
    SELECT * FROM entry_view WHERE namespace = ${namespace}
      AND id IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`;
}

export function readHistory(sql: Sql, namespace: string, key: string): EntryVersion[] {
  return sql.all`
    SELECT v.* FROM versions v JOIN entries e ON e.id = v.entry
    WHERE e.namespace = ${namespace} AND e.key = ${key} ORDER BY v.version DESC`.map((row) => ({
    version: numberOf(row, 'version'),
    content: textOf(row, 'content'),
    category: textOf(row, 'category'),
    tags: textsOf(row, 'tags'),
    sources: textsOf(row, 'sources'),
    validUntil: dateOrNull(row, 'valid_until'),
    updatedAt: new Date(numberOf(row, 'updated_at')),
  }));
}

export function listEntries(
  sql: Sql,
  search: Omit<Search, 'depth'>,
  { limit, offset }: { limit: number; offset: number },
): { entries: Entry[]; total: number } {
  const ids = filtered(sql, `SELECT e.id FROM entries e WHERE ${PASSES} ORDER BY e.id DESC`, search).map(
    (row) => numberOf(row, 'id'),
  );
  const page = ids.slice(offset, offset + limit);
  const found = readEntries(sql, search.namespace, page, search.now);
  return { entries: page.flatMap((id) => found.get(id) ?? []), total: ids.length };
}

export function countByCategory(sql: Sql, namespace: string): Map<string, number> {
  const counts = new Map<string, number>(categories.map((category) => [category, 0]));
  for (const row of sql.all`SELECT category, count(*) AS n FROM entries WHERE namespace = ${namespace} GROUP BY category`) {
    counts.set(textOf(row, 'category'), numberOf(row, 'n'));
  }
  return counts;
}

export function hasCategory(sql: Sql, namespace: string, category: string): boolean {
  return (
    categories.some((known) => known === category) ||
    sql.get`SELECT 1 FROM entries WHERE namespace = ${namespace} AND category = ${category} LIMIT 1` !==
      undefined
  );
}

/** The words of each entry, as hashes. */
export function wordsOfEntries(sql: Sql, ids: readonly number[]): Map<number, Set<number>> {
  const rows = sql.all`SELECT id, words FROM entries WHERE id IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`;
  return new Map(rows.map((row) => [numberOf(row, 'id'), wordsOf(row)]));
}

function wordsOf(row: Row): Set<number> {
  return new Set(unpackWords(bytesOf(row, 'words')).hashes);
}

/** Entries among the given ids that are in the namespace and may be recalled. */
export function presentEntries(sql: Sql, namespace: string, ids: readonly number[]): Set<number> {
  const rows = sql.all`
    SELECT id FROM entries WHERE id IN (SELECT value FROM json_each(${JSON.stringify(ids)}))
      AND namespace = ${namespace} AND superseded_by IS NULL`;
  return new Set(rows.map((row) => numberOf(row, 'id')));
}

/** Entries that pass the filter and whose key is the text, or that have one of the names or error signatures. */
export function exactEntries(
  sql: Sql,
  search: Search,
  text: string,
  names: readonly string[],
  errors: readonly string[],
): Map<number, NonNullable<Explanation['exact']>> {
  const rows = filtered(sql, EXACT, search, {
    text,
    names: JSON.stringify(names),
    errors: JSON.stringify(errors),
    depth: search.depth,
  });
  return new Map(rows.map((row) => [numberOf(row, 'id'), exactKind(textOf(row, 'exact'))]));
}

const EXACT = `
  SELECT e.id, min(found.exact) AS exact FROM (
    SELECT id, '1 key' AS exact FROM entries WHERE namespace = :namespace AND key = :text
    UNION ALL SELECT entry, '2 identifier' FROM labels
      WHERE kind = 'identifier' AND value IN (SELECT value FROM json_each(:names))
    UNION ALL SELECT entry, '3 error' FROM labels
      WHERE kind = 'error' AND value IN (SELECT value FROM json_each(:errors))
  ) found CROSS JOIN entries e ON e.id = found.id -- in this order: few names, many entries
  WHERE e.superseded_by IS NULL AND ${PASSES} GROUP BY e.id ORDER BY e.id LIMIT :depth`;

function exactKind(ranked: string): NonNullable<Explanation['exact']> {
  return ranked === '1 key' ? 'key' : ranked === '2 identifier' ? 'identifier' : 'error';
}

export function totals(sql: Sql): { entries: number; namespaces: number; versions: number; vectors: number } {
  const row =
    sql.get`SELECT (SELECT count(*) FROM entries) AS entries, (SELECT count(DISTINCT namespace) FROM entries) AS namespaces,
      (SELECT count(*) FROM versions) AS versions, (SELECT count(*) FROM vectors) AS vectors` ?? {};
  return {
    entries: numberOf(row, 'entries'),
    namespaces: numberOf(row, 'namespaces'),
    versions: numberOf(row, 'versions'),
    vectors: numberOf(row, 'vectors'),
  };
}

function entryOf(row: Row, now: number): Entry {
  const validUntil = dateOrNull(row, 'valid_until');
  const supersededBy = textOrNull(row, 'superseded_by');
  const expired = validUntil !== null && validUntil.getTime() <= now;
  return {
    key: textOf(row, 'key'),
    content: textOf(row, 'content'),
    category: textOf(row, 'category'),
    tags: textsOf(row, 'tags'),
    sources: textsOf(row, 'sources'),
    identifiers: textsOf(row, 'identifiers'),
    version: numberOf(row, 'version'),
    sightings: numberOf(row, 'sightings'),
    createdAt: new Date(numberOf(row, 'created_at')),
    updatedAt: new Date(numberOf(row, 'updated_at')),
    validUntil,
    thread: textOrNull(row, 'thread'),
    order: numberOrNull(row, 'position'),
    context: textOrNull(row, 'context'),
    date: dateOrNull(row, 'date'),
    supersededBy,
    stale: supersededBy === null ? (expired ? 'expired' : null) : 'superseded',
    uses: {
      recalled: numberOf(row, 'recalled'),
      lastRecalledAt: dateOrNull(row, 'last_recalled'),
      helped: numberOf(row, 'helped'),
      hurt: numberOf(row, 'hurt'),
    },
  };
}
