/** One recall: both halves in parallel, exact names, one ranking, one page of it. */

import { setImmediate as othersFirst } from 'node:timers/promises';
import type { Cancel } from '../base/cancel.ts';
import { throwIfCancelled } from '../base/cancel.ts';
import { GeodeError, reasonOf } from '../base/errors.ts';
import { wordHash, words } from '../base/words.ts';
import { type Answer, type Half, memoryLimits, type Query, type Result } from '../seams/memory.ts';
import type { EmbedQueue } from './embed/embed-queue.ts';
import { bestFirst, explained, fuse, type Ranked } from './fuse.ts';
import type { Hits, Search, SearchIndex } from './index/search-index.ts';
import type { Indexer } from './indexer.ts';
import { type CheckedQuery, checkedQuery } from './prepare.ts';
import { summaryOf } from './summary.ts';
import { errorSignatures } from './text/error-signature.ts';
import { fallbackHits } from './truth/fallback-words.ts';
import { lastChange } from './truth/indexed-entries.ts';
import {
  exactEntries,
  hasCategory,
  presentEntries,
  readWithWords,
  wordsOfEntries,
} from './truth/read-entries.ts';
import type { Truth } from './truth/truth.ts';
import { trustOfEntries } from './truth/uses.ts';
import type { UseCounter } from './use-counter.ts';

export interface RecallParts {
  readonly truth: Truth;
  readonly index: SearchIndex;
  readonly indexer: Indexer;
  readonly queue: EmbedQueue;
  readonly uses: UseCounter;
  readonly now: () => number;
}

export async function recall(
  parts: RecallParts,
  namespace: string,
  query: Query,
  options: Cancel,
): Promise<Answer> {
  throwIfCancelled(options.signal, 'The call');
  const asked = checkedQuery(query);
  checkCategory(parts.truth, namespace, asked.category);
  const search: Search = { namespace, filter: asked, now: parts.now(), depth: memoryLimits.depth };
  const fusion = query.fusion ?? { kind: 'weighted' };
  // A half with no share is not asked: it would only add entries that nothing else found.
  const share = fusion.kind === 'weighted' ? fusion.dense : undefined;
  // The embedding takes longest and uses all cores, so it starts first.
  const embedded = share === 0 ? null : embedQuery(parts, asked.text, options);
  const byMeaning = embedded === null ? notAsked : denseHalf(parts, search, embedded, options);
  const queryWords = [...new Set(words(asked.text))];
  const byWords = share === 1 ? notAsked : keywordHalf(parts, search, queryWords);
  // In parallel with the index, which searches in another thread.
  const exact = Promise.resolve(embedded)
    .then(() => othersFirst())
    .then(() => namedEntries(parts, search, asked));
  const [dense, keyword, named] = await Promise.all([byMeaning, byWords, exact]);
  if (keyword.hits === null && dense.hits === null) {
    throw new GeodeError(
      'memory_down',
      ['Both halves of memory failed.', dense.trouble, keyword.trouble].filter(Boolean).join(' '),
    );
  }
  const ranked = fuse(
    {
      keyword: keyword.hits,
      dense: dense.hits,
      background: parts.indexer.model?.background ?? 0,
      exact: withWholeNames(parts, named, asked, queryWords, keyword.hits),
    },
    fusion,
  );
  const capped = keyword.hits?.cut === true || dense.hits?.cut === true;
  return {
    ...page(
      parts,
      trusted(parts, stillThere(parts, ranked, search, [keyword.hits, dense.hits])),
      search,
      asked,
      queryWords,
    ),
    totalIs: capped ? 'capped' : 'exact',
    degraded: [degraded('dense', dense), degraded('keyword', keyword)].flat(),
  };
}

export function checkCategory(truth: Truth, namespace: string, category: string | undefined): void {
  if (category === undefined || truth.read((sql) => hasCategory(sql, namespace, category))) return;
  throw new GeodeError('unknown_category', `There is no category ${JSON.stringify(category)} here.`, {
    details: { field: 'category' },
  });
}

/** Hits and their problem, if any; no hits at all if the half did not answer. */
interface HalfAnswer {
  readonly hits: Hits | null;
  readonly trouble: string | null;
}

const notAsked: HalfAnswer = { hits: null, trouble: null };

async function keywordHalf(
  parts: RecallParts,
  search: Search,
  queryWords: readonly string[],
): Promise<HalfAnswer> {
  try {
    const model = parts.indexer.model?.id ?? null;
    return { hits: await parts.index.keyword({ ...search, words: queryWords, model }), trouble: null };
  } catch (thrown) {
    parts.indexer.wake();
    const trouble = `The index is down (${reasonOf(thrown)}); searched words in the memory file.`;
    try {
      return { hits: parts.truth.read((sql) => fallbackHits(sql, search, queryWords)), trouble };
    } catch (deeper) {
      return { hits: null, trouble: reasonOf(deeper) };
    }
  }
}

/** The query's vector, or the reason why there is none. */
type Embedded = { readonly vector: Float32Array; readonly model: number } | { readonly trouble: string };

async function embedQuery({ indexer, queue }: RecallParts, text: string, options: Cancel): Promise<Embedded> {
  const model = await indexer.modelSoon();
  if (model === null) {
    return { trouble: `The embedder has not answered yet: ${reasonOf(indexer.trouble ?? 'starting')}.` };
  }
  try {
    const [vector] = await queue.embed([text.slice(0, queue.embedder.chunkLength)], 'query', options);
    if (vector === undefined)
      throw new GeodeError('embedder_failed', 'The embedder returned no vector for the query.');
    return { vector, model: model.id };
  } catch (thrown) {
    throwIfCancelled(options.signal, 'The call');
    indexer.wake();
    return { trouble: reasonOf(thrown) };
  }
}

async function denseHalf(
  { indexer, index }: RecallParts,
  search: Search,
  embedded: Promise<Embedded>,
  options: Cancel,
): Promise<HalfAnswer> {
  const query = await embedded;
  if ('trouble' in query) return { hits: null, trouble: query.trouble };
  try {
    // Checked afterwards, so that starting an embedder does not use up the time.
    const whole = await indexer.vectorsSoon(search.namespace);
    const hits = await index.dense({ ...search, ...query });
    return { hits, trouble: whole ? null : 'Some entries are still being embedded or indexed.' };
  } catch (thrown) {
    throwIfCancelled(options.signal, 'The call');
    indexer.wake();
    return { hits: null, trouble: reasonOf(thrown) };
  }
}

function degraded(half: Half, { trouble }: HalfAnswer): { half: Half; reason: string }[] {
  return trouble === null ? [] : [{ half, reason: trouble }];
}

/** A name: a single token with structure, such as `parseHeader`, `max_size`, `E0382` or `fs.open`. */
const NAME = /^(?=.*(?:\p{Ll}\p{Lu}|[_\d.:#/$-]))[^\s]+$/u;

type Exact = Map<number, NonNullable<Ranked['exact']>>;

/** Entries whose key is the query, or that have one of its names or its error. */
function namedEntries({ truth }: RecallParts, search: Search, { text }: CheckedQuery): Exact {
  const names = [text, ...text.split(/[\s"'`()[\]{},;]+/)].filter((name) => name !== '');
  return truth.read((sql) => exactEntries(sql, search, text, [...new Set(names)], errorSignatures(text)));
}

/** A query that is only a name is exact if the text contains it whole. */
function withWholeNames(
  { truth }: RecallParts,
  exact: Exact,
  { text }: CheckedQuery,
  queryWords: readonly string[],
  keyword: Hits | null,
): Exact {
  // The name itself comes last, after its parts.
  const whole = NAME.test(text) ? queryWords.at(-1) : undefined;
  if (whole === undefined) return exact;
  const ids = (keyword?.hits ?? []).map(({ id }) => id);
  for (const [id, found] of truth.read((sql) => wordsOfEntries(sql, ids))) {
    if (found.has(wordHash(whole)) && !exact.has(id)) exact.set(id, 'identifier');
  }
  return exact;
}

/** An index may list an entry a moment longer than the truth; an index that has seen every change does not. */
function stillThere(
  { truth }: RecallParts,
  ranked: readonly Ranked[],
  { namespace }: Search,
  halves: readonly (Hits | null)[],
): readonly Ranked[] {
  return truth.read((sql) => {
    const now = lastChange(sql);
    if (halves.every((half) => half === null || half.asOf === now)) return ranked;
    const present = presentEntries(
      sql,
      namespace,
      ranked.map(({ id }) => id),
    );
    return ranked.filter(({ id }) => present.has(id));
  });
}

/** Entries that hurt more attempts than they helped lose a part of their score. */
function trusted({ truth }: RecallParts, ranked: readonly Ranked[]): readonly Ranked[] {
  const trust = truth.read((sql) =>
    trustOfEntries(
      sql,
      ranked.map(({ id }) => id),
    ),
  );
  if (trust.size === 0) return ranked;
  return ranked
    .map((each) => {
      const factor = trust.get(each.id) ?? 1;
      return { ...each, trust: factor, score: each.score * factor };
    })
    .sort(bestFirst);
}

function page(
  { truth, uses }: RecallParts,
  all: readonly Ranked[],
  { namespace, now }: Search,
  { text, limit, offset }: CheckedQuery,
  queryWords: readonly string[],
): { results: Result[]; total: number } {
  return truth.read((sql) => {
    const shown = all.slice(offset, offset + limit);
    const ids = shown.map(({ id }) => id);
    const found = readWithWords(sql, namespace, ids, now);
    const results = shown.flatMap((ranked) => {
      const there = found.get(ranked.id);
      if (there === undefined) return [];
      const shared = queryWords.filter((word) => there.words.has(wordHash(word)));
      const why = { ...explained(ranked), words: shared };
      const summary = summaryOf(text, why, there.entry.uses);
      return [{ entry: there.entry, score: ranked.score, why: { ...why, summary } }];
    });
    uses.recalled(ids.filter((id) => found.has(id)));
    return { results, total: all.length };
  });
}
