/**
 * Keyword search in the truth itself, by FTS5. Slower than an index and always there: it answers while the
 * index cannot, and it knows how common a word is.
 */
import { createHash } from 'node:crypto';
import type { Filter } from '../../core/memory.ts';
import { numberOf } from './columns.ts';
import type { Sql } from './truth.ts';

/** A namespace as one word of the index, so that other namespaces are never looked at. */
export function namespaceWord(namespace: string): string {
  return `n${createHash('sha256').update(namespace).digest('hex').slice(0, 24)}`;
}

export function matchWords(
  sql: Sql,
  namespace: string,
  words: readonly string[],
  filter: Filter,
  now: number,
  depth: number,
): { id: number; score: number }[] {
  if (words.length === 0) return [];
  const any = words.map((word) => `"${word.replaceAll('"', '""')}"`).join(' OR ');
  const match = `namespace : ${namespaceWord(namespace)} AND words : (${any})`;
  return sql.all`
    SELECT e.id, -bm25(word_index, 0, 1) AS score FROM word_index JOIN entries e ON e.id = word_index.rowid
    WHERE word_index MATCH ${match} AND e.namespace = ${namespace} AND e.superseded_by IS NULL
      AND (${filter.category ?? null} IS NULL OR e.category = ${filter.category ?? null})
      AND (${filter.strict ? 1 : 0} = 0 OR e.valid_until IS NULL OR e.valid_until > ${now})
      AND (${filter.source ?? null} IS NULL OR EXISTS (SELECT 1 FROM labels
        WHERE entry = e.id AND kind = 'source' AND value = ${filter.source ?? null}))
      AND NOT EXISTS (SELECT 1 FROM json_each(${JSON.stringify(filter.tags ?? [])}) t WHERE NOT EXISTS (
        SELECT 1 FROM labels WHERE entry = e.id AND kind = 'tag' AND value = t.value))
    ORDER BY score DESC, e.id LIMIT ${depth}`.map((row) => ({ id: numberOf(row, 'id'), score: numberOf(row, 'score') }));
}

/** Of how many entries each word is part, over all namespaces. */
export function entriesWith(sql: Sql, words: readonly string[]): Map<string, number> {
  const known = new Map<string, number>();
  for (const word of words) {
    const row = sql.get`SELECT doc FROM word_vocabulary WHERE term = ${word} AND col = 'words'`;
    known.set(word, row === undefined ? 0 : numberOf(row, 'doc'));
  }
  return known;
}
