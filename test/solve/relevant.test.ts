import { describe, expect, it } from 'vitest';
import type { Explanation, Result } from '../../src/seams/memory.ts';
import { relevant } from '../../src/solve/relevant.ts';

describe('relevant recall results', () => {
  it('are results clearly ahead of the others, and every exact hit', () => {
    const strangers = [0.89, 0.88, 0.88, 0.87, 0.87, 0.86].map((cosine) => result(cosine));
    const kin = result(0.95);
    const exact = result(0.8, 'error');
    expect(relevant([kin, ...strangers, exact])).toEqual([kin, exact]);
    expect(relevant(strangers)).toEqual([]);
  });

  it('are all results when there are too few to compare, and results found only by words', () => {
    const few = [0.9, 0.8, 0.7].map((cosine) => result(cosine));
    expect(relevant(few)).toEqual(few);
    const byWords = [result(null), result(null)];
    expect(relevant([...byWords, ...Array.from({ length: 6 }, () => result(0.8))])).toEqual(byWords);
  });
});

function result(cosine: number | null, exact: Explanation['exact'] = null): Result {
  const now = new Date(0);
  const score = (raw: number) => ({ rank: 1, raw, normalised: raw, share: 1 });
  return {
    entry: {
      ...{ key: 'k', content: 'c', category: 'core', tags: [], sources: [], identifiers: [] },
      ...{ version: 1, sightings: 1, createdAt: now, updatedAt: now, validUntil: null, thread: null },
      ...{ order: null, context: null, date: null, supersededBy: null, stale: null },
      uses: { recalled: 0, lastRecalledAt: null, helped: 0, hurt: 0 },
    },
    score: 1,
    why: {
      ...{ exact, dense: cosine === null ? null : score(cosine), keyword: null },
      ...{ trust: 1, words: [], summary: '' },
    },
  };
}
