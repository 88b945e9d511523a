/**
 * The search index of entries, with two halves. It holds no data of its own: everything comes from the truth and may
 * be discarded. Every search names its namespace, and its filter applies before its limit.
 */
import type { Filter, PartHealth } from '../../seams/memory.ts';

export interface SearchIndex extends AsyncDisposable {
  readonly name: 'sqlite' | 'qdrant';
  /** Entries nearest in meaning, by cosine; an entry's best chunk counts. */
  dense(search: DenseSearch): Promise<Hits>;
  /** Entries that share words with the query, by BM25. */
  keyword(search: KeywordSearch): Promise<Hits>;
  /** Brings the index up to date with the truth. Called after writes; safe to call at any time. */
  catchUp(): Promise<void>;
  /** Never throws, never hangs. */
  health(): Promise<PartHealth>;
  /** Changes in the truth that the index lacks, in one namespace or in all. */
  behind(namespace?: string): number;
  stop(): Promise<void>;
}

export interface Search {
  readonly namespace: string;
  readonly filter: Filter;
  /** Milliseconds since 1970. Strict searches leave out entries that expired before this time. */
  readonly now: number;
  readonly depth: number;
}

export interface DenseSearch extends Search {
  readonly vector: Float32Array;
  /** Only vectors of this model are compared. */
  readonly model: number;
}

export interface KeywordSearch extends Search {
  /** The model for dense searches of this namespace, so that both halves share one index. */
  readonly model: number | null;
  /** Distinct words as `words()` makes them. */
  readonly words: readonly string[];
}

export interface Hit {
  /** The entry's number in the truth. */
  readonly id: number;
  readonly score: number;
}

export interface Hits {
  /** Best first, ties by id, at most `depth`. */
  readonly hits: readonly Hit[];
  /** Whether more entries match than `depth`. */
  readonly cut: boolean;
  /** The highest score that any entry could have for this query. */
  readonly ceiling: number;
  /** The last change of the truth that the index knew; missing if unknown. */
  readonly asOf?: number;
}
