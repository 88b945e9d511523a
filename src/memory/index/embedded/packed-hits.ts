/** Hits in transfer between threads: two arrays of numbers are copied many times faster than objects. */
import type { Hits } from '../search-index.ts';

export interface PackedHits extends Omit<Hits, 'hits'> {
  readonly ids: Float64Array;
  readonly scores: Float64Array;
}

export function packHits({ hits, ...rest }: Hits): PackedHits {
  const ids = new Float64Array(hits.length);
  const scores = new Float64Array(hits.length);
  for (const [i, hit] of hits.entries()) {
    ids[i] = hit.id;
    scores[i] = hit.score;
  }
  return { ...rest, ids, scores };
}

export function unpackHits({ ids, scores, ...rest }: PackedHits): Hits {
  const hits: Hits['hits'][number][] = [];
  for (const [i, id] of ids.entries()) hits.push({ id, score: scores[i] ?? 0 });
  return { ...rest, hits };
}
