/**
 * Memory: what agents learned, stored once, found by meaning and by word.
 *
 * A `MemoryStore` owns the files, workers and connections. All other code gets a `Memory`: the view of one namespace,
 * which cannot reach another one. All text is data; nothing in a key, tag or query is syntax.
 */
import type { Cancel } from '../base/cancel.ts';

export const categories = ['core', 'project', 'conversation', 'daily', 'scratch'] as const;

/** A name in `categories`, or a custom name: lower case, digits, `-`, `_`, at most 64 characters. */
type Category = string;

export interface NewEntry {
  /**
   * The entry's name in its namespace: any text without NUL, at most 512 characters, slashes allowed. Storing under
   * an existing key creates its next version. Without a key Geode makes one, and merges an entry with the same
   * content and category into the existing one.
   */
  readonly key?: string;
  readonly content: string;
  readonly category: Category;
  /** The source: a URL, a file, a run, a person. Required. */
  readonly source: string;
  readonly tags?: readonly string[];
  /** Text to search instead of the content, for entries that people ask about in other words. */
  readonly searchText?: string;
  /** Exact search keys that rank first: symbols, error signatures, ticket numbers. */
  readonly identifiers?: readonly string[];
  readonly validUntil?: Date;
  /**
   * Keys of entries that this one replaces. They are no longer recalled but stay readable. Unknown keys are refused.
   */
  readonly supersedes?: readonly string[];
  /**
   * The thread of the entry, such as a chat or a document: neighbours in a thread are also found by each other's
   * words. Use it only for real sequences; unrelated neighbours make search worse.
   */
  readonly thread?: string;
  /** Its place in the thread, any number. Default: after the last one. Refused without a thread. */
  readonly order?: number;
  /** Context such as the question that this entry answers. Used for search, never shown. */
  readonly context?: string;
  /** When it happened or was said, if known. Day, month and year become searchable words. */
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
  /** How often it was stored: 1, plus one for each merge or repeat. */
  readonly sightings: number;
  /** The first time this key was stored; later versions keep it. */
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly validUntil: Date | null;
  readonly thread: string | null;
  readonly order: number | null;
  readonly context: string | null;
  readonly date: Date | null;
  readonly supersededBy: string | null;
  /** Why this may no longer be true; null if there is no reason to doubt it. */
  readonly stale: 'expired' | 'superseded' | null;
  readonly uses: Uses;
}

/** How often an entry was found, and whether that helped. Written about once a second; a killed process loses that second. */
export interface Uses {
  /** How often it was among the results of a search. */
  readonly recalled: number;
  readonly lastRecalledAt: Date | null;
  /** Attempts that had the entry in their prompt, and passed. */
  readonly helped: number;
  /** Attempts that had it in their prompt, and failed. It loses weight in search. */
  readonly hurt: number;
}

export type UseOutcome = 'helped' | 'hurt';

/** An earlier version of an entry, kept when the next one was stored. */
export type EntryVersion = Pick<
  Entry,
  'version' | 'content' | 'category' | 'tags' | 'sources' | 'validUntil' | 'updatedAt'
>;

/** A complete entry, for transfer to another memory. */
export interface KeptEntry extends Omit<Entry, 'stale' | 'uses'> {
  readonly searchText: string | null;
  /** Earlier versions, newest first. */
  readonly versions: readonly EntryVersion[];
}

export interface Stored {
  readonly entry: Entry;
  readonly outcome: 'created' | 'updated' | 'merged';
  /** How many secrets were replaced before storing. */
  readonly scrubbed: number;
  /**
   * True if search by meaning finds it already. A new text is found by its words at once, and by meaning as soon as
   * its vectors exist: a moment later, or when the embedder or the index is back.
   */
  readonly indexed: boolean;
}

export interface Filter {
  /** A category that is neither built in nor used in this namespace throws `unknown_category`. */
  readonly category?: Category;
  /** Only entries with all of these tags. */
  readonly tags?: readonly string[];
  readonly source?: string;
  /** Leaves out expired entries instead of marking them. */
  readonly strict?: boolean;
}

export interface Paging {
  /** 1 to 100, 10 by default. */
  readonly limit?: number;
  readonly offset?: number;
}

export type Fusion =
  /** Normalised scores, added. `dense` in 0..1 is the weight of meaning. Default: 0.65. */
  | { readonly kind: 'weighted'; readonly dense?: number }
  /** Ranks instead of scores. Default of `k`: 60. */
  | { readonly kind: 'rrf'; readonly k?: number };

export interface Query extends Filter, Paging {
  readonly text: string;
  readonly fusion?: Fusion;
}

export type Half = 'dense' | 'keyword';

/** Why a result has its rank. Null for a half that did not find the entry. */
export interface Explanation {
  /** Set for a match of the whole key, a name or an error signature; such results come first. */
  readonly exact: 'key' | 'identifier' | 'error' | null;
  readonly dense: HalfScore | null;
  readonly keyword: HalfScore | null;
  /** 1, or less for an entry that hurt more attempts than it helped: the factor on its score. */
  readonly trust: number;
  /** The words of the query that the entry contains, in their indexed form. */
  readonly words: readonly string[];
  /** The explanation as one sentence: "it has lemon, cake; number 2 in meaning". */
  readonly summary: string;
}

export interface HalfScore {
  /** 1 is the best of this half. */
  readonly rank: number;
  /** Cosine, or BM25. */
  readonly raw: number;
  /** `raw` on the common scale, before weighting. */
  readonly normalised: number;
  /** The weight of this half in the answer. */
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
  /** Results on all pages of this query together. The same for every page. */
  readonly total: number;
  /** `capped` if more entries match than are ranked (`limits.depth` of each half). */
  readonly totalIs: 'exact' | 'capped';
  /** The halves that did not answer, and why. Empty if both answered. */
  readonly degraded: readonly { readonly half: Half; readonly reason: string }[];
}

export interface Page {
  readonly entries: readonly Entry[];
  readonly total: number;
}

export const findingKinds = ['secret', 'contradiction', 'duplicate', 'stale', 'never-recalled'] as const;

/** A problem that an audit found. An audit changes nothing. */
export interface Finding {
  readonly kind: (typeof findingKinds)[number];
  /** The entries that it is about; of two, the one to remove comes first. */
  readonly keys: readonly string[];
  /** One sentence with the reason, without the secret if it is about one. */
  readonly evidence: string;
  /** The command that removes the problem. */
  readonly mend: string;
}

export interface Audit {
  /** The most serious kind first. */
  readonly findings: readonly Finding[];
  /** How many entries were read. */
  readonly checked: number;
  /** Whether pairs were also compared by meaning; a large memory, or one without a model, is compared by words only. */
  readonly compared: 'words and meaning' | 'words';
}

/** One namespace. Calls on the same key take effect one after another, in call order. */
export interface Memory {
  readonly namespace: string;
  /**
   * Resolves when the entry, its words and the note of its missing vectors are on disk, in one transaction. It does
   * not wait for a model: the vectors are made afterwards, also by the next process if this one is killed.
   * `MemoryStore.settled` waits for them. Secrets are scrubbed first. Throws `too_much_pending` when too much text of
   * this namespace is waiting for vectors.
   */
  store(entry: NewEntry, options?: Cancel): Promise<Stored>;
  /** Like `store`, in one transaction: all entries, or none if one is refused. Other callers read and search at the same time. */
  storeMany(entries: readonly NewEntry[], options?: Cancel): Promise<readonly Stored[]>;
  /**
   * Best first. With one half down the answer has `degraded`; with both down it throws `memory_down`, never an empty
   * answer. Waits a moment for the vectors of entries stored just before; if some are still missing, `degraded` says
   * so.
   */
  recall(query: Query, options?: Cancel): Promise<Answer>;
  /** Returns null if there is no such entry. Returns superseded and expired entries too, marked. */
  get(key: string): Promise<Entry | null>;
  /** Earlier versions, newest first; empty for an unknown key. */
  history(key: string): Promise<readonly EntryVersion[]>;
  /** Newest first, superseded ones included; `total` counts all entries that pass the filter. */
  list(filter?: Filter & Paging): Promise<Page>;
  /** All entries that pass the filter, oldest first. */
  export(filter?: Filter): AsyncIterable<KeptEntry>;
  /**
   * Restores the output of `export`, with versions, sources and times, in one transaction; secrets are scrubbed as in
   * `store`. An existing key with the same content is left alone. An existing key with other content keeps its
   * history and gets the entry as its next version.
   */
  restore(entries: readonly KeptEntry[], options?: Cancel): Promise<readonly Stored[]>;
  /** Removes the entry, its versions and its vectors. Returns true if it existed. */
  forget(key: string): Promise<boolean>;
  /** Entries per category: built-in categories always, others when used. */
  count(): Promise<ReadonlyMap<Category, number>>;
  /** Counts whether the attempt that had these entries in its prompt passed. Unknown keys are ignored. */
  noteOutcome(keys: readonly string[], outcome: UseOutcome): Promise<void>;
  /** Reads all entries and reports secrets, contradictions, duplicates, and entries that are stale or never found. */
  audit(options?: Cancel): Promise<Audit>;
}

export interface PartHealth {
  readonly name: 'truth' | 'index' | 'embedder';
  readonly state: 'up' | 'down' | 'working';
  /** One sentence for display: the index and the model, or what is wrong. */
  readonly detail: string;
}

export interface MemoryHealth {
  /** `degraded` while recall works with one half only. */
  readonly state: 'up' | 'degraded' | 'down';
  readonly parts: readonly PartHealth[];
  /** Stored entries that the index does not have yet with the current model. */
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
  /** Does not create the namespace: the first `store` does. The name follows the rules for keys. */
  in(namespace: string): Memory;
  /** Never throws, never hangs. */
  health(): Promise<MemoryHealth>;
  stats(): Promise<MemoryStats>;
  /** Embeds and indexes everything again; search works during the rebuild. Leaving the loop early is safe. */
  reindex(options?: Cancel): AsyncIterable<ReindexProgress>;
  /** Resolves when nothing is pending. Throws the reason if an index or the embedder stays down. */
  settled(options?: Cancel): Promise<void>;
  /** Idempotent. Calls in progress finish or fail with `memory_down`. */
  stop(): Promise<void>;
}

export const memoryLimits = {
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
  /** Candidates that each half ranks for a query, regardless of the page. */
  depth: 200,
  entriesPerStore: 1_000,
} as const;

/** Turns texts into vectors of length 1: one vector of `dimensions` numbers for each text, in order. */
export interface Embedder extends AsyncDisposable {
  /** Names the vector space: provider, model, revision. Vectors of different models are never compared. */
  readonly model: string;
  readonly dimensions: number;
  /** Longest text in characters that is embedded as a whole; longer content is cut into chunks of this size. */
  readonly chunkLength: number;
  /** Maximum number of characters in one call, unless a single text is longer. */
  readonly batchLength: number;
  /**
   * Fetches what the embedder needs before its first answer, such as the model. Missing if it needs nothing. May be
   * called at any time, and again after a failure. Throws `model_unavailable`.
   */
  prepare?(): Promise<void>;
  /** Throws `embedder_failed` with the provider's reason. A query does not wait for a model download. */
  embed(
    texts: readonly string[],
    purpose: 'query' | 'entry',
    options?: Cancel,
  ): Promise<readonly Float32Array[]>;
  stop(): Promise<void>;
}
