/**
 * Keyword search in the truth itself, with FTS5. Slower than an index but always available: it answers while the
 * index cannot, and it knows how common a word is.
 */
import { createHash } from 'node:crypto';
import { idf } from '../index/bm25.ts';
import type { Hits, Search } from '../index/search-index.ts';
import { numberOf } from './columns.ts';
import { filtered, PASSES } from './filtered.ts';
import type { Sql } from './truth.ts';

/** A namespace as one word of the index, so that other namespaces are never searched. */
export function namespaceWord(namespace: string): string {
  return `n${createHash('sha256').update(namespace).digest('hex').slice(0, 24)}`;
}

export function fallbackHits(sql: Sql, search: Search, words: readonly string[]): Hits {
  if (words.length === 0) return { hits: [], cut: false, ceiling: 1 };
  const any = words.map((word) => `"${word.replaceAll('"', '""')}"`).join(' OR ');
  const match = `namespace : ${namespaceWord(search.namespace)} AND words : (${any})`;
  const rows = filtered(sql, MATCHING, search, { match, most: search.depth + 1 });
  const hits = rows
    .slice(0, search.depth)
    .map((row) => ({ id: numberOf(row, 'id'), score: numberOf(row, 'score') }));
  return { hits, cut: rows.length > search.depth, ceiling: wordCeiling(sql, words, FTS5_K1) };
}

const MATCHING = `
  SELECT e.id, -bm25(word_index, 0, 1) AS score FROM word_index JOIN entries e ON e.id = word_index.rowid
  WHERE word_index MATCH :match AND e.superseded_by IS NULL AND ${PASSES}
  ORDER BY score DESC, e.id LIMIT :most`;

/** Fixed by FTS5. */
const FTS5_K1 = 1.2;

/** The maximum BM25 score for these words, over all namespaces. */
export function wordCeiling(sql: Sql, words: readonly string[], k1: number): number {
  const entries = numberOf(sql.get`SELECT count(*) AS n FROM entries` ?? {}, 'n');
  return words.reduce(
    (sum, word) => sum + idf(entries, Math.min(entries, entriesWith(sql, word))) * (k1 + 1),
    0,
  );
}

function entriesWith(sql: Sql, word: string): number {
  const row = sql.get`SELECT doc FROM word_vocabulary WHERE term = ${word} AND col = 'words'`;
  return row === undefined ? 0 : numberOf(row, 'doc');
}
