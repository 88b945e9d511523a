/**
 * Combines the hits of two halves into one ranking.
 *
 * First, scores are made comparable: a cosine by its position between "unrelated" and "equal" for its model, BM25 by
 * the geometric mean of the best hit and the maximum that any entry could reach for these words. The maximum alone
 * gives words too little weight where entries are short, the best hit alone too much where all hits are poor. The
 * share of each half is fixed; docs/decisions/0110-bm25-scale-from-best-hit-and-maximum.md has the measurements.
 */
import type { Explanation, Fusion } from '../seams/memory.ts';
import type { Hits } from './index/search-index.ts';

export interface Ranked {
  readonly id: number;
  readonly score: number;
  readonly exact: Explanation['exact'];
  /** Its rank in each half that found it. */
  readonly dense: Place | null;
  readonly keyword: Place | null;
  /** The share of the dense half; the other half gets the rest. */
  readonly share: number;
  /** The factor on the score of an entry that hurt more attempts than it helped; 1 for others. */
  readonly trust: number;
}

interface Place {
  readonly rank: number;
  readonly raw: number;
  readonly normalised: number;
}

export interface Halves {
  /** Null if the half did not answer. */
  readonly dense: Hits | null;
  readonly keyword: Hits | null;
  /** The model's score for unrelated texts. */
  readonly background: number;
  readonly exact: ReadonlyMap<number, NonNullable<Explanation['exact']>>;
}

export function fuse(halves: Halves, fusion: Fusion): Ranked[] {
  const dense = scored(halves.dense, (raw) => (raw - halves.background) / (1 - halves.background));
  const best = halves.keyword?.hits[0]?.score ?? 0;
  const keyword = scored(halves.keyword, (raw, ceiling) => raw / Math.sqrt(best * Math.max(best, ceiling)));
  const share = fusion.kind === 'rrf' ? 0.5 : renormalised(fusion.dense ?? SHARE, dense, keyword);
  const score = fusion.kind === 'rrf' ? byRank(fusion.k ?? RRF_K) : byScore(share, dense, keyword);
  const ids = new Set([...halves.exact.keys(), ...dense.byId.keys(), ...keyword.byId.keys()]);
  return Array.from(ids, (id): Ranked => {
    const inDense = dense.byId.get(id) ?? null;
    const inKeyword = keyword.byId.get(id) ?? null;
    const exact = halves.exact.get(id) ?? null;
    return {
      id,
      score: score(inDense, inKeyword),
      exact,
      dense: inDense,
      keyword: inKeyword,
      share,
      trust: 1,
    };
  }).sort(bestFirst);
}

/** Exact matches first, then by score; ties by age. */
export function bestFirst(a: Ranked, b: Ranked): number {
  return exactRank(b.exact) - exactRank(a.exact) || b.score - a.score || a.id - b.id;
}

/** Only for results that are shown: many more are ranked. */
export function explained({
  exact,
  dense,
  keyword,
  share,
  trust,
}: Ranked): Omit<Explanation, 'words' | 'summary'> {
  return {
    exact,
    dense: dense && { ...dense, share },
    keyword: keyword && { ...keyword, share: 1 - share },
    trust,
  };
}

const RRF_K = 60;
/** The weight of meaning. */
const SHARE = 0.65;

interface ScoredHalf {
  readonly byId: ReadonlyMap<number, Place>;
  /** Maximum score of an entry that the half did not find. */
  readonly floor: number;
}

function scored(hits: Hits | null, normalise: (raw: number, ceiling: number) => number): ScoredHalf {
  const found = hits?.hits ?? [];
  const list = found.map(
    ({ score: raw }, i): Place => ({
      rank: i + 1,
      raw,
      normalised: Math.min(1, Math.max(0, normalise(raw, hits?.ceiling ?? 1) || 0)),
    }),
  );
  return {
    byId: new Map(list.map((place, i) => [found[i]?.id ?? 0, place])),
    floor: hits?.cut === true ? (list.at(-1)?.normalised ?? 0) : 0,
  };
}

/** A half that found nothing or did not answer gives its share to the other. */
function renormalised(share: number, dense: ScoredHalf, keyword: ScoredHalf): number {
  if (dense.byId.size === 0) return 0;
  return keyword.byId.size === 0 ? 1 : share;
}

type Score = (dense: Place | null, keyword: Place | null) => number;

function byScore(share: number, dense: ScoredHalf, keyword: ScoredHalf): Score {
  return (inDense, inKeyword) =>
    share * (inDense?.normalised ?? dense.floor) + (1 - share) * (inKeyword?.normalised ?? keyword.floor);
}

function byRank(k: number): Score {
  const worth = (place: Place | null) => (place === null ? 0 : (k + 1) / (k + place.rank) / 2);
  return (inDense, inKeyword) => worth(inDense) + worth(inKeyword);
}

function exactRank(exact: Explanation['exact']): number {
  return exact === null ? 0 : exact === 'key' ? 2 : 1;
}
