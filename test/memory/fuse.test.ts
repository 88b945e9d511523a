import { expect, it } from 'vitest';
import { explained, fuse, type Halves } from '../../src/memory/fuse.ts';
import type { Hits } from '../../src/memory/index/search-index.ts';

const hits = (scores: Record<number, number>, more: Partial<Hits> = {}): Hits => ({
  hits: Object.entries(scores)
    .map(([id, score]) => ({ id: Number(id), score }))
    .sort((a, b) => b.score - a.score),
  cut: false,
  ceiling: 10,
  ...more,
});
const halves = (more: Partial<Halves>): Halves => ({
  dense: null,
  keyword: null,
  background: 0,
  exact: new Map(),
  ...more,
});
const ids = (more: Partial<Halves>, fusion: Parameters<typeof fuse>[1] = { kind: 'weighted' }) =>
  fuse(halves(more), fusion).map(({ id }) => id);

it('takes the whole score from the half that answered', () => {
  const [first] = fuse(halves({ keyword: hits({ 1: 10, 2: 5 }) }), { kind: 'weighted' });
  expect(first).toMatchObject({ id: 1, score: 1 });
  expect(first && explained(first)).toMatchObject({ dense: null, keyword: { share: 1, normalised: 1 } });
});

it('measures a cosine from the level of unrelated texts', () => {
  const [first] = fuse(halves({ dense: hits({ 1: 0.85 }), background: 0.7 }), { kind: 'weighted' });
  expect(first?.score).toBeCloseTo(0.5);
});

it('puts exact hits first, keys before names', () => {
  const exact = new Map([
    [3, 'identifier'],
    [4, 'key'],
  ] as const);
  expect(ids({ dense: hits({ 1: 0.9, 3: 0.1 }), exact })).toEqual([4, 3, 1]);
});

it('scales BM25 half by its best hit and half by the best possible score', () => {
  const place = (score: number, ceiling: number) =>
    fuse(halves({ keyword: hits({ 1: score, 2: score / 2 }, { ceiling }) }), { kind: 'weighted' }).map(
      ({ keyword }) => keyword?.normalised,
    );
  expect(place(10, 10)).toEqual([1, 0.5]);
  // A quarter of what could be reached counts as half of it.
  expect(place(2.5, 10)).toEqual([0.5, 0.25]);
});

it('gives the dense half a fixed share', () => {
  const [first] = fuse(halves({ dense: hits({ 1: 0.9 }), keyword: hits({ 1: 5, 2: 5 }) }), {
    kind: 'weighted',
  });
  expect(first?.share).toBe(0.65);
});

it('does not lower an entry that lies beyond the depth of a half', () => {
  const cut = hits({ 1: 0.9, 2: 0.8 }, { cut: true });
  const [best] = fuse(halves({ dense: cut, keyword: hits({ 3: 10 }) }), { kind: 'weighted', dense: 0.5 });
  expect(best).toMatchObject({ id: 3, score: 0.9 });
});

it('breaks ties by age, and accepts scores that are NaN', () => {
  expect(ids({ dense: hits({ 7: 0.5, 3: 0.5, 5: 0.5 }) })).toEqual([3, 5, 7]);
  expect(ids({ keyword: hits({ 1: Number.NaN, 2: 1 }, { ceiling: 0 }) })).toHaveLength(2);
});

it('adds ranks for RRF', () => {
  expect(
    ids({ dense: hits({ 1: 0.9, 2: 0.8, 3: 0.1 }), keyword: hits({ 2: 9, 4: 8 }) }, { kind: 'rrf' }),
  ).toEqual([2, 1, 4, 3]);
});
