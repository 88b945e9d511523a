/**
 * From the hits of two halves to one ranking.
 *
 * Scores are made comparable first: a cosine by where it lies between unrelated and equal for its model, BM25
 * by the most that any entry could reach for these words. The share of each half is a prior moved towards
 * the half whose best hits stand out; bench/memory holds the measurements behind the numbers.
 */
import type { Explanation, Fusion, HalfScore } from '../core/memory.ts';
import type { Hit, Hits } from './index/search-index.ts';

export interface Ranked {
  readonly id: number;
  readonly score: number;
  readonly why: Omit<Explanation, 'words'>;
}

export interface Halves {
  /** Null when the half did not answer. */
  readonly dense: Hits | null;
  readonly keyword: Hits | null;
  /** What the model gives for unrelated texts. */
  readonly background: number;
  readonly exact: ReadonlyMap<number, NonNullable<Explanation['exact']>>;
}

export function fuse(halves: Halves, fusion: Fusion): Ranked[] {
  const dense = scored(halves.dense, (raw) => (raw - halves.background) / (1 - halves.background));
  const keyword = scored(halves.keyword, (raw, ceiling) => raw / ceiling);
  const share =
    fusion.kind === 'rrf' ? 0.5 : renormalised(fusion.dense ?? chosenShare(dense, keyword), dense, keyword);
  const score = fusion.kind === 'rrf' ? byRank(fusion.k ?? RRF_K) : byScore(share, dense, keyword);
  const ids = new Set([...halves.exact.keys(), ...dense.byId.keys(), ...keyword.byId.keys()]);
  return [...ids]
    .map((id) => {
      const why: Ranked['why'] = {
        exact: halves.exact.get(id) ?? null,
        dense: explained(dense, id, share),
        keyword: explained(keyword, id, 1 - share),
      };
      return { id, score: score(why), why };
    })
    .sort((a, b) => exactRank(b.why.exact) - exactRank(a.why.exact) || b.score - a.score || a.id - b.id);
}

const RRF_K = 60;
/** The dense share when nothing speaks for either half. */
const PRIOR = 0.65;
/** How much the prior counts against what the hits say. */
const PRIOR_WEIGHT = 0.5;
/** Cosines are less spread than BM25, so standing out means more there. */
const DENSE_CONTRAST = 2;
/** The hits among which the best one stands out or not. */
const FIELD = 50;

interface ScoredHalf {
  readonly byId: ReadonlyMap<
    number,
    { readonly hit: Hit; readonly rank: number; readonly normalised: number }
  >;
  /** What an entry that the half did not find can have at most. */
  readonly floor: number;
  readonly standsOut: number;
}

function scored(hits: Hits | null, normalise: (raw: number, ceiling: number) => number): ScoredHalf {
  const list = (hits?.hits ?? []).map((hit, i) => ({
    hit,
    rank: i + 1,
    normalised: Math.min(1, Math.max(0, normalise(hit.score, hits?.ceiling ?? 1) || 0)),
  }));
  const field = list.slice(0, FIELD);
  const mean = field.reduce((sum, { normalised }) => sum + normalised, 0) / Math.max(1, field.length);
  return {
    byId: new Map(list.map((item) => [item.hit.id, item])),
    floor: hits?.cut === true ? (list.at(-1)?.normalised ?? 0) : 0,
    standsOut: (list[0]?.normalised ?? 0) - mean,
  };
}

function chosenShare(dense: ScoredHalf, keyword: ScoredHalf): number {
  const forDense = dense.standsOut * DENSE_CONTRAST;
  const evidence = forDense + keyword.standsOut;
  return evidence > 0 ? PRIOR_WEIGHT * PRIOR + (1 - PRIOR_WEIGHT) * (forDense / evidence) : PRIOR;
}

/** A half that found nothing, or did not answer, leaves its share to the other. */
function renormalised(share: number, dense: ScoredHalf, keyword: ScoredHalf): number {
  if (dense.byId.size === 0) return 0;
  return keyword.byId.size === 0 ? 1 : share;
}

function byScore(share: number, dense: ScoredHalf, keyword: ScoredHalf): (why: Ranked['why']) => number {
  return (why) =>
    share * (why.dense?.normalised ?? dense.floor) + (1 - share) * (why.keyword?.normalised ?? keyword.floor);
}

function byRank(k: number): (why: Ranked['why']) => number {
  const worth = (half: HalfScore | null) => (half === null ? 0 : (k + 1) / (k + half.rank) / 2);
  return (why) => worth(why.dense) + worth(why.keyword);
}

function explained(half: ScoredHalf, id: number, share: number): HalfScore | null {
  const found = half.byId.get(id);
  if (found === undefined) return null;
  return { rank: found.rank, raw: found.hit.score, normalised: found.normalised, share };
}

function exactRank(exact: Explanation['exact']): number {
  return exact === null ? 0 : exact === 'key' ? 2 : 1;
}
