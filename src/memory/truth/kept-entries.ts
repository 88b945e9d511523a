/** Complete entries: export from one memory, import into another. */
import type { KeptEntry } from '../../seams/memory.ts';
import type { Search } from '../index/search-index.ts';
import type { PreparedKept } from '../prepare.ts';
import { numberOf, textOrNull } from './columns.ts';
import { filtered, PASSES } from './filtered.ts';
import { readEntries, readEntry, readHistory } from './read-entries.ts';
import type { Sql } from './truth.ts';
import { type Written, writeEntry } from './write-entry.ts';

export interface KeptPage {
  readonly entries: readonly KeptEntry[];
  /** Where the next page starts; null after the last. */
  readonly after: number | null;
}

export function keptEntries(sql: Sql, search: Omit<Search, 'depth'>, after: number, limit: number): KeptPage {
  const query = `SELECT e.id, e.search_text FROM entries e WHERE e.id > :after AND ${PASSES} ORDER BY e.id LIMIT :most`;
  const rows = filtered(sql, query, search, { after, most: limit });
  const ids = rows.map((row) => numberOf(row, 'id'));
  const found = readEntries(sql, search.namespace, ids, search.now);
  const entries = rows.flatMap((row) => {
    const entry = found.get(numberOf(row, 'id'));
    if (entry === undefined) return [];
    const { stale: _, uses: __, ...kept } = entry;
    const versions = readHistory(sql, search.namespace, entry.key);
    return [{ ...kept, searchText: textOrNull(row, 'search_text'), versions }];
  });
  return { entries, after: rows.length < limit ? null : (ids.at(-1) ?? null) };
}

export function restoreEntry(
  sql: Sql,
  namespace: string,
  { entry, kept, versions }: PreparedKept,
  now: number,
): Written {
  const there = entry.key === null ? null : readEntry(sql, namespace, entry.key, now);
  const written = writeEntry(sql, namespace, entry, now);
  if (there !== null) return written;
  sql.run`
    UPDATE entries SET version = ${kept.version}, sightings = ${kept.sightings},
      created_at = ${kept.createdAt.getTime()}, updated_at = ${kept.updatedAt.getTime()},
      superseded_by = ${kept.supersededBy}
    WHERE id = ${written.id}`;
  for (const { version, content, category, tags, sources, validUntil, updatedAt } of versions) {
    sql.run`
      INSERT INTO versions (entry, version, content, category, tags, sources, valid_until, updated_at)
      VALUES (${written.id}, ${version}, ${content}, ${category}, ${JSON.stringify(tags)},
        ${JSON.stringify(sources)}, ${validUntil?.getTime() ?? null}, ${updatedAt.getTime()})`;
  }
  return written;
}
