/**
 * Memory: what agents learned, stored once, found by meaning and by word, and true.
 *
 * A `MemoryStore` owns the files, workers and connections. Everyone else gets a `Memory`: the view of one
 * namespace, which cannot name another one. All text is data; nothing in a key, tag or query is syntax.
 */
import type { Cancel } from '../base/cancel.ts';

export const categories = ['core', 'project', 'conversation', 'daily', 'scratch'] as const;

/** A name in `categories`, or a custom name: lower case, digits, `-`, `_`, at most 64 characters. */
type Category = string;

export interface NewEntry {
  /**
   * The entry's name in its namespace: any text without NUL, slashes too, at most 512 characters. Storing
   * under a key that exists makes its next version. Without a key one is made, and an entry with the same
   * content and category is merged into instead of stored again.
   */
  readonly key?: string;
  readonly content: string;
  readonly category: Category;
  /** Where it comes from: a URL, a file, a run, a person. Nothing is stored without provenance. */
  readonly source: string;
  readonly tags?: readonly string[];
  /** Text to search instead of the content, if people ask for it in other words. */
  readonly searchText?: string;
  /** Exact search keys that rank first: symbols, error signatures, ticket numbers. */
  readonly identifiers?: readonly string[];
  readonly validUntil?: Date;
  /** Keys of entries that this one replaces: they leave recall and stay readable. Unknown keys are refused. */
  readonly supersedes?: readonly string[];
  /**
   * The thread of the entry, such as a chat or a document: neighbours in a thread are also found by each other's
   * words. Use it only for real sequences; unrelated neighbours make search worse.
   */
  readonly thread?: string;
  /** Its place in the thread, any number; after the last one by default. Refused without a thread. */
  readonly order?: number;
  /** Text around it that is not part of it, such as the question that it answers. Found by it, never shown for it. */
  readonly context?: string;
  /** When it happened or was said, if that is known. Its day, month and year are found as words. */
  readonly date?: Date;
}

export interface Entry {
  readonly key: string;
  readonly content: string;
  readonly category: Category;
  readonly tags: readonly string[];
  /** Every source that stored this entry, first one first. */
  readonly sources: readonly string[];
  readonly identifiers: readonly string[];
  /** Starts at 1; each change of the content or its facts adds one. */
  readonly version: number;
  /** How often it was stored: 1 and one more for each merge or repeat. */
  readonly sightings: number;
  /** The first time this key was stored, whatever happened since. */
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly validUntil: Date | null;
  readonly thread: string | null;
  readonly order: number | null;
  readonly context: string | null;
  readonly date: Date | null;
  readonly supersededBy: string | null;
  /** Why this may no longer be true; null while nothing speaks against it. */
  readonly stale: 'expired' | 'superseded' | null;
}

/** A version that an entry had, kept when the next one came. */
export type EntryVersion = Pick<
  Entry,
  'version' | 'content' | 'category' | 'tags' | 'sources' | 'validUntil' | 'updatedAt'
>;

/** An entry with all that is kept about it, to take it to another memory. */
export interface KeptEntry extends Omit<Entry, 'stale'> {
  readonly searchText: string | null;
  /** Earlier versions, newest first. */
  readonly versions: readonly EntryVersion[];
}

export interface Stored {
  readonly entry: Entry;
  readonly outcome: 'created' | 'updated' | 'merged';
  /** How many secrets were replaced before anything was written. */
  readonly scrubbed: number;
  /**
   * True when it is found by meaning already. A new text is found by its words at once and by meaning as soon as
   * its vectors are made, a moment later, or when the embedder or the index is back.
   */
  readonly indexed: boolean;
}

export interface Filter {
  /** A category that is neither built in nor used in this namespace is refused with `unknown_category`. */
  readonly category?: Category;
  /** Entries that carry all of these. */
  readonly tags?: readonly string[];
  readonly source?: string;
  /** Leaves expired entries out instead of marking them. */
  readonly strict?: boolean;
}

export interface Paging {
  /** 1 to 100, 10 by default. */
  readonly limit?: number;
  readonly offset?: number;
}

export type Fusion =
  /** Normalised scores, added. `dense` in 0..1 is the share of meaning, 0.65 by default. */
  | { readonly kind: 'weighted'; readonly dense?: number }
  /** Ranks instead of scores. `k` is 60 by default. */
  | { readonly kind: 'rrf'; readonly k?: number };

export interface Query extends Filter, Paging {
  readonly text: string;
  readonly fusion?: Fusion;
}

export type Half = 'dense' | 'keyword';

/** Why a result stands where it does. A half that did not find the entry has null. */
export interface Explanation {
  /** Set for a hit on the whole key, a name or an error signature; such hits come first. */
  readonly exact: 'key' | 'identifier' | 'error' | null;
  readonly dense: HalfScore | null;
  readonly keyword: HalfScore | null;
  /** The words of the query that the entry has, as they are indexed. */
  readonly words: readonly string[];
  /** All of this in one sentence: "it has lemon, cake; number 2 in meaning". */
  readonly summary: string;
}

export interface HalfScore {
  /** 1 is the best of this half. */
  readonly rank: number;
  /** Cosine, or BM25. */
  readonly raw: number;
  /** `raw` on the common scale, before weighting. */
  readonly normalised: number;
  /** The half's share in this answer. */
  readonly share: number;
}

export interface Result {
  readonly entry: Entry;
  /** 0..1; comparable within one answer. */
  readonly score: number;
  readonly why: Explanation;
}

export interface Answer {
  readonly results: readonly Result[];
  /** How many results all pages of this query have together. The same for every page. */
  readonly total: number;
  /** `capped` when more entries match than are ranked (`limits.depth` of each half). */
  readonly totalIs: 'exact' | 'capped';
  /** The halves that did not answer, and why. Empty when the answer is whole. */
  readonly degraded: readonly { readonly half: Half; readonly reason: string }[];
}

export interface Page {
  readonly entries: readonly Entry[];
  readonly total: number;
}

/** One namespace. Calls on the same key take effect one after another, in the order of the calls. */
export interface Memory {
  readonly namespace: string;
  /**
   * Resolves when the entry, its words and the debt of its vectors are on disk, in one transaction. It waits for
   * no model: the vectors are made right after, also by the next process when this one is killed.
   * `MemoryStore.settled` waits for them. Secrets are scrubbed first. Throws `too_much_pending` when more text of
   * this namespace would wait for its vectors than may.
   */
  store(entry: NewEntry, options?: Cancel): Promise<Stored>;
  /** Like `store`, in one transaction: all entries, or none if one is refused. Other callers read and search at the same time. */
  storeMany(entries: readonly NewEntry[], options?: Cancel): Promise<readonly Stored[]>;
  /**
   * Best first. One half down: `degraded`. Both down: throws `memory_down`, never an empty answer. Vectors of a
   * few entries that were stored just now are waited for, for a moment; while some are missing, `degraded` says so.
   */
  recall(query: Query, options?: Cancel): Promise<Answer>;
  /** Returns null if there is no such entry. Returns superseded and expired entries too, marked. */
  get(key: string): Promise<Entry | null>;
  /** Earlier versions, newest first; empty for an unknown key. */
  history(key: string): Promise<readonly EntryVersion[]>;
  /** Newest first, superseded ones included; `total` counts all that pass the filter. */
  list(filter?: Filter & Paging): Promise<Page>;
  /** Everything that passes the filter, oldest first. */
  export(filter?: Filter): AsyncIterable<KeptEntry>;
  /**
   * Puts back what `export` gave, with its versions, sources and times, in one transaction; secrets are scrubbed
   * as in `store`. A key that is there already is left alone when it says the same, and otherwise keeps its
   * history and gets the entry as its next version.
   */
  restore(entries: readonly KeptEntry[], options?: Cancel): Promise<readonly Stored[]>;
  /** Removes the entry, its versions and its vectors. True only if it was there. */
  forget(key: string): Promise<boolean>;
  /** Entries per category: the built-in ones always, others when used. */
  count(): Promise<ReadonlyMap<Category, number>>;
}

export interface PartHealth {
  readonly name: 'truth' | 'index' | 'embedder';
  readonly state: 'up' | 'down' | 'working';
  /** One sentence for a person: the index, the model, or what is wrong. */
  readonly detail: string;
}

export interface MemoryHealth {
  /** `degraded` while recall still answers with one half. */
  readonly state: 'up' | 'degraded' | 'down';
  readonly parts: readonly PartHealth[];
  /** Entries that are stored and not yet in the index with the present model. */
  readonly pending: number;
}

export interface MemoryStats {
  readonly entries: number;
  readonly namespaces: number;
  readonly versions: number;
  readonly vectors: number;
  readonly bytesOnDisk: number;
  readonly model: string;
  readonly dimensions: number;
}

export interface ReindexProgress {
  readonly done: number;
  readonly total: number;
}

export interface MemoryStore extends AsyncDisposable {
  readonly name: 'sqlite' | 'qdrant';
  /** Makes no namespace; the first `store` does. The name follows the rules of a key. */
  in(namespace: string): Memory;
  /** Never throws, never hangs. */
  health(): Promise<MemoryHealth>;
  stats(): Promise<MemoryStats>;
  /** Embeds and indexes everything again while search goes on. Leaving the loop early stops it safely. */
  reindex(options?: Cancel): AsyncIterable<ReindexProgress>;
  /** Resolves when nothing is pending; throws the reason when an index or the embedder stays down. */
  settled(options?: Cancel): Promise<void>;
  /** Idempotent. Calls under way finish or fail with `memory_down`. */
  stop(): Promise<void>;
}

export const limits = {
  keyLength: 512,
  contentLength: 1_000_000,
  tags: 64,
  tagLength: 128,
  identifiers: 64,
  identifierLength: 512,
  sourceLength: 2_048,
  threadLength: 512,
  contextLength: 10_000,
  queryLength: 10_000,
  resultsPerPage: 100,
  /** Candidates that each half ranks for a query, whatever the page. */
  depth: 200,
  entriesPerStore: 1_000,
} as const;

/** Turns text into vectors. Texts in, as many vectors of `dimensions` numbers and length 1 out, in order. */
export interface Embedder extends AsyncDisposable {
  /** Names the vector space: provider, model, revision. Vectors of different models are never compared. */
  readonly model: string;
  readonly dimensions: number;
  /** The longest text in characters that is embedded whole; longer content is cut into chunks of this size. */
  readonly chunkLength: number;
  /** How many characters go into one call at most, unless a single text is longer. */
  readonly batchLength: number;
  /**
   * Gets what it needs before its first answer, such as the model; absent when it needs nothing. May be called at
   * any time, again after a failure. Throws `model_unavailable`.
   */
  prepare?(): Promise<void>;
  /** Throws `embedder_failed` with the provider's own reason. A query does not wait for a model that is fetched. */
  embed(
    texts: readonly string[],
    purpose: 'query' | 'entry',
    options?: Cancel,
  ): Promise<readonly Float32Array[]>;
  stop(): Promise<void>;
}
