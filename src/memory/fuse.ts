/**
 * From the hits of two halves to one ranking.
 *
 * Scores are made comparable first: a cosine by where it lies between unrelated and equal for its model, BM25
 * by the most that any entry could reach for these words. The share of each half is a prior moved towards
 * the half whose best hits stand out; bench/memory holds the measurements behind the numbers.
 */
import type { Explanation, Fusion } from '../core/memory.ts';
import type { Hits } from './index/search-index.ts';

export interface Ranked {
  readonly id: number;
  readonly score: number;
  readonly exact: Explanation['exact'];
  /** Its place in each half that found it. */
  readonly dense: Place | null;
  readonly keyword: Place | null;
  /** The share of the dense half; the other has the rest. */
  readonly share: number;
}

interface Place {
  readonly rank: number;
  readonly raw: number;
  readonly normalised: number;
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
  return Array.from(ids, (id): Ranked => {
    const inDense = dense.byId.get(id) ?? null;
    const inKeyword = keyword.byId.get(id) ?? null;
    const exact = halves.exact.get(id) ?? null;
    return { id, score: score(inDense, inKeyword), exact, dense: inDense, keyword: inKeyword, share };
  }).sort((a, b) => exactRank(b.exact) - exactRank(a.exact) || b.score - a.score || a.id - b.id);
}

/** Only for what is shown: many more are ranked. */
export function explained({ exact, dense, keyword, share }: Ranked): Omit<Explanation, 'words'> {
  return {
    exact,
    dense: dense && { ...dense, share },
    keyword: keyword && { ...keyword, share: 1 - share },
  };
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
  readonly byId: ReadonlyMap<number, Place>;
  /** What an entry that the half did not find can have at most. */
  readonly floor: number;
  readonly standsOut: number;
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
  const field = list.slice(0, FIELD);
  const mean = field.reduce((sum, { normalised }) => sum + normalised, 0) / Math.max(1, field.length);
  return {
    byId: new Map(list.map((place, i) => [found[i]?.id ?? 0, place])),
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
