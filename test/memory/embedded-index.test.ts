import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import loadWabt from 'wabt';
import { VectorRows } from '../../src/memory/index/embedded/vector-rows.ts';
import { packVector, unpackVector } from '../../src/memory/truth/vector-blob.ts';

const embedded = new URL('../../src/memory/index/embedded/', import.meta.url);

it('scan.wasm is what scan.wat says', async () => {
  const wabt = await loadWabt();
  const module = wabt.parseWat('scan.wat', readFileSync(new URL('scan.wat', embedded), 'utf8'), {
    simd: true,
  });
  expect(Buffer.from(module.toBinary({}).buffer)).toEqual(readFileSync(new URL('scan.wasm', embedded)));
});

/** A fixed pseudo-random unit vector for each number. */
function vectorOf(seed: number, dimensions: number): Float32Array {
  let state = seed * 2_654_435_761 + 1;
  const values = Float32Array.from({ length: dimensions }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32 - 0.5;
  });
  const length = Math.hypot(...values);
  return values.map((value) => value / length);
}

it.each([384, 100, 7, 1536])(
  'finds the nearest rows of %d dimensions, exactly and by their signs',
  (dimensions) => {
    const centre = new Float32Array(dimensions);
    const rows = new VectorRows(dimensions, 0);
    const count = dimensions === 384 ? 25_000 : 500;
    for (let i = 0; i < count; i += 1) rows.add(i, packVector(vectorOf(i, dimensions), centre));
    const dot = (a: Float32Array, b: Float32Array) =>
      a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);
    for (const wanted of [3, 77, count - 1]) {
      const query = vectorOf(wanted, dimensions);
      let best = -1;
      let highest = -2;
      rows.search(query, query, { accepts: () => true, rows: null }, (row, product) => {
        if (product > highest) [best, highest] = [row, product];
        if (row % 997 === 0) expect(product).toBeCloseTo(dot(query, vectorOf(row, dimensions)), 1);
      });
      expect(best).toBe(wanted);
      expect(highest).toBeCloseTo(1, 1);
    }
    const some: number[] = [];
    rows.search(
      vectorOf(1, dimensions),
      vectorOf(1, dimensions),
      { accepts: () => true, rows: Int32Array.of(5, 9) },
      (row) => some.push(row),
    );
    expect(some).toEqual([5, 9]);
  },
  60_000,
);

it('keeps vectors almost exactly', () => {
  const [vector, centre] = [vectorOf(1, 384), vectorOf(2, 384)];
  const back = unpackVector(packVector(vector, centre), centre);
  for (const [i, value] of back.entries()) expect(value).toBeCloseTo(vector[i] ?? 0, 4);
});
