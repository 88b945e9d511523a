/** Reads entries of one namespace. */
import { categories, type Entry, type EntryVersion, type Explanation, type Filter } from '../../core/memory.ts';
import { dateOrNull, numberOf, type Row, textOf, textOrNull, textsOf } from './columns.ts';
import type { Sql } from './truth.ts';

export function readEntry(sql: Sql, namespace: string, key: string, now: number): Entry | null {
  const row = sql.get`SELECT * FROM entry_view WHERE namespace = ${namespace} AND key = ${key}`;
  return row === undefined ? null : entryOf(row, now);
}

/** By id; one that has gone since, or lies in another namespace, is left out. */
export function readEntries(sql: Sql, namespace: string, ids: readonly number[], now: number): Map<number, Entry> {
  const rows = sql.all`
    SELECT * FROM entry_view WHERE namespace = ${namespace}
      AND id IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`;
  return new Map(rows.map((row) => [numberOf(row, 'id'), entryOf(row, now)]));
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
  namespace: string,
  filter: Filter,
  { limit, offset }: { limit: number; offset: number },
  now: number,
): { entries: Entry[]; total: number } {
  const ids = sql.all`
    SELECT id FROM entries e WHERE namespace = ${namespace}
      AND (${filter.category ?? null} IS NULL OR category = ${filter.category ?? null})
      AND (${filter.strict ? 1 : 0} = 0 OR (superseded_by IS NULL AND (valid_until IS NULL OR valid_until > ${now})))
      AND (${filter.source ?? null} IS NULL OR EXISTS (SELECT 1 FROM labels
        WHERE entry = e.id AND kind = 'source' AND value = ${filter.source ?? null}))
      AND NOT EXISTS (SELECT 1 FROM json_each(${JSON.stringify(filter.tags ?? [])}) t WHERE NOT EXISTS (
        SELECT 1 FROM labels WHERE entry = e.id AND kind = 'tag' AND value = t.value))
    ORDER BY id DESC`.map((row) => numberOf(row, 'id'));
  const page = ids.slice(offset, offset + limit);
  const found = readEntries(sql, namespace, page, now);
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
    sql.get`SELECT 1 FROM entries WHERE namespace = ${namespace} AND category = ${category} LIMIT 1` !== undefined
  );
}

/** Entries whose key is the text, or that carry one of the names or error signatures. */
export function exactEntries(
  sql: Sql,
  namespace: string,
  text: string,
  names: readonly string[],
  errors: readonly string[],
): Map<number, NonNullable<Explanation['exact']>> {
  const exact = new Map<number, NonNullable<Explanation['exact']>>();
  const carriers = (kind: 'identifier' | 'error', values: readonly string[]) =>
    sql.all`
      SELECT DISTINCT l.entry AS id FROM labels l JOIN entries e ON e.id = l.entry
      WHERE l.kind = ${kind} AND l.value IN (SELECT value FROM json_each(${JSON.stringify(values)}))
        AND e.namespace = ${namespace} ORDER BY l.entry`;
  for (const row of carriers('error', errors)) exact.set(numberOf(row, 'id'), 'error');
  for (const row of carriers('identifier', names)) exact.set(numberOf(row, 'id'), 'identifier');
  const named = sql.get`SELECT id FROM entries WHERE namespace = ${namespace} AND key = ${text}`;
  if (named !== undefined) exact.set(numberOf(named, 'id'), 'key');
  return exact;
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
    supersededBy,
    stale: supersededBy === null ? (expired ? 'expired' : null) : 'superseded',
  };
}
