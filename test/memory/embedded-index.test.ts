import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import loadWabt from 'wabt';
import { Best } from '../../src/memory/index/embedded/best.ts';
import { type IndexedEntry, NamespaceIndex } from '../../src/memory/index/embedded/namespace-index.ts';
import { BLOCK, RANGES } from '../../src/memory/index/embedded/row-layout.ts';
import { newScan } from '../../src/memory/index/embedded/scan.ts';
import { signTables } from '../../src/memory/index/embedded/sign-tables.ts';
import { VectorRows, type Wanted } from '../../src/memory/index/embedded/vector-rows.ts';
import { packVector, unpackVector } from '../../src/memory/truth/vector-blob.ts';
import { eachOf } from '../each-of.ts';

const embedded = new URL('../../src/memory/index/embedded/', import.meta.url);

it('scan.wasm is compiled from scan.wat', async () => {
  const wabt = await loadWabt();
  const module = wabt.parseWat('scan.wat', readFileSync(new URL('scan.wat', embedded), 'utf8'), {
    simd: true,
    relaxed_simd: true,
  });
  expect(Buffer.from(module.toBinary({}).buffer)).toEqual(readFileSync(new URL('scan.wasm', embedded)));
});

/** Fixed pseudo-random numbers from 0 to 1. */
function randomFrom(seed: number): () => number {
  let state = (seed * 2_654_435_761 + 1) >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A fixed pseudo-random unit vector for each number. */
function vectorOf(seed: number, dimensions: number): Float32Array {
  const random = randomFrom(seed);
  const values = Float32Array.from({ length: dimensions }, () => random() - 0.5);
  const length = Math.hypot(...values);
  return values.map((value) => value / length);
}

function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += (a[i] ?? 0) * (b[i] ?? 0);
  return sum;
}

const everything: Wanted = { rows: null, owners: null };

function found(rows: VectorRows, query: Float32Array, wanted: Wanted = everything): Map<number, number> {
  const { count, rows: compared, products } = rows.search(query, wanted);
  return new Map(Array.from(compared.subarray(0, count), (row, i) => [row, products[i] ?? 0]));
}

describe('the loops, against plain JavaScript', () => {
  it.each([
    [384, 1],
    [384, 37],
    [16, 64],
    [1536, 5],
  ])('products of bytes and of 12 bits: %d dimensions, %d rows', (dims, count) => {
    const random = randomFrom(dims + count);
    const at = { query: 0, fine: dims * 2, list: dims * 6, out: dims * 6 + 1024, rows: dims * 6 + 2048 };
    const tails = at.rows + count * dims;
    const scan = newScan(tails + (count * dims) / 2);
    const { buffer } = scan.memory;
    const query = new Int16Array(buffer, at.query, dims).map(() => Math.floor(random() * 2047) - 1023);
    new Int16Array(buffer, at.query, dims).set(query);
    const fine = new Float32Array(buffer, at.fine, dims);
    fine.set(fine.map(() => random() - 0.5));
    const bytes = new Int8Array(buffer, at.rows, count * dims);
    bytes.set(bytes.map(() => Math.floor(random() * 255) - 127));
    const bits = new Uint8Array(buffer, tails, (count * dims) / 2);
    bits.set(bits.map(() => Math.floor(random() * 256)));
    const row = (number: number) => bytes.subarray(number * dims, (number + 1) * dims);
    const fineRow = (number: number) =>
      Array.from(row(number), (byte, i) => {
        const pair = bits[(number * dims) / 2 + (i >> 4) * 8 + (i & 7)] ?? 0;
        return byte * 16 + (i & 8 ? pair >> 4 : pair & 15) - 8;
      });
    const all = Array.from({ length: count }, (_, i) => i);
    const backwards = all.toReversed();
    new Int32Array(buffer, at.list, count).set(backwards);
    const out = new Int32Array(buffer, at.out, count);
    scan.dots(at.query, at.rows, count, dims, at.out);
    expect([...out]).toEqual(all.map((number) => dot(query, row(number))));
    scan.dotsAt(at.query, at.rows, at.list, count, dims, at.out);
    expect([...out]).toEqual(backwards.map((number) => dot(query, row(number))));
    scan.fineAt(at.fine, at.rows, tails, at.list, count, dims, at.out);
    for (const [i, value] of new Float32Array(buffer, at.out, count).entries())
      expect(value).toBeCloseTo(dot(fine, fineRow(backwards[i] ?? 0)), 0);
  });

  it.each([
    [384, 3],
    [16, 1],
    [128, 7],
  ])('estimates from signs, their tally and selection: %d dimensions, %d blocks', (dims, blocks) => {
    const random = randomFrom(dims);
    const count = blocks * BLOCK;
    const size = dims / 8;
    const at = { tables: 0, mask: dims * 4, factors: dims * 4 + count, offsets: dims * 4 + count * 5 };
    const out = at.offsets + count * 4;
    const list = out + count * 2;
    const tally = list + count * 4;
    const signs = tally + RANGES * 4;
    const scan = newScan(signs + count * size);
    const { buffer } = scan.memory;
    const [query, centre] = [vectorOf(1, dims), vectorOf(2, dims)];
    const { step, base } = signTables(query, centre, new Uint8Array(buffer, at.tables, dims * 4));
    const bytes = new Uint8Array(buffer, signs, count * size);
    bytes.set(bytes.map(() => Math.floor(random() * 256)));
    const mask = new Uint8Array(buffer, at.mask, count);
    // The last block is left out as a whole when there are several.
    mask.set(mask.map((_, row) => (random() < 0.7 && (row < count - BLOCK || blocks === 1) ? 255 : 0)));
    const factors = new Float32Array(buffer, at.factors, count);
    factors.set(factors.map(() => 500 + random() * 500));
    const offsets = new Float32Array(buffer, at.offsets, count);
    offsets.set(offsets.map(() => random() * 4000 - 2000));
    scan.estimates(at.tables, signs, blocks, size, at.mask, at.factors, at.offsets, step, base, out);
    const estimates = new Int16Array(buffer, out, count);
    for (const [row, estimate] of estimates.entries()) {
      const block = Math.floor(row / BLOCK) * BLOCK * size + (row % BLOCK);
      const sign = (i: number) => ((bytes[block + (i >> 3) * BLOCK] ?? 0) & (1 << (i & 7)) ? 1 : -1);
      const product = query.reduce((sum, value, i) => sum + (value - (centre[i] ?? 0)) * sign(i), 0);
      const exact = (factors[row] ?? 0) * product + (offsets[row] ?? 0);
      if (mask[row] === 0) expect(estimate).toBe(-32_768);
      // The tolerated error of rounding the tables.
      else expect(Math.abs(estimate - exact)).toBeLessThan((factors[row] ?? 0) * step * Math.sqrt(dims));
    }
    for (const stride of [8, 32]) {
      const ranges = new Uint32Array(buffer, tally, RANGES).fill(0);
      scan.tally(out, count, stride, tally);
      const counted = new Uint32Array(RANGES);
      for (const [row, estimate] of estimates.entries()) {
        const range = (estimate + 32_768) >> 4;
        if (mask[row] !== 0 && row % stride < 8) counted[range] = (counted[range] ?? 0) + 1;
      }
      expect(ranges).toEqual(counted);
    }
    for (const limit of [-32_767, 0, 1_000, 32_767]) {
      const chosen = scan.select(out, blocks, limit, list);
      expect([...new Int32Array(buffer, list, chosen)]).toEqual(
        [...estimates.keys()].filter((row) => (estimates[row] ?? 0) >= limit),
      );
    }
  });
});

describe('rows of vectors', () => {
  it.each([384, 100, 7, 1536])(
    'finds the nearest of %d dimensions, exactly and by their signs',
    (dimensions) => {
      const centre = new Float32Array(dimensions);
      const rows = new VectorRows(centre, 0);
      const count = dimensions === 384 ? 8_003 : 501;
      for (let i = 0; i < count; i += 1) rows.add(i, packVector(vectorOf(i, dimensions), centre));
      for (const wanted of [3, 77, count - 1]) {
        const query = vectorOf(wanted, dimensions);
        const products = [...found(rows, query)].sort(([, a], [, b]) => b - a);
        expect(products[0]?.[0]).toBe(wanted);
        expect(products[0]?.[1]).toBeCloseTo(1, 1);
        for (const [row, product] of products.slice(0, 20))
          expect(product).toBeCloseTo(dot(query, vectorOf(row, dimensions)), 1);
        const some = products.slice(0, 20).map(([row]) => row);
        for (const [i, product] of rows.fineProducts(query, some).entries())
          expect(product).toBeCloseTo(dot(query, vectorOf(some[i] ?? 0, dimensions)), 3);
      }
      const two = found(rows, vectorOf(1, dimensions), { rows: Int32Array.of(5, 9), owners: null });
      expect([...two.keys()]).toEqual([5, 9]);
    },
    240_000,
  );

  it('finds nearly all of the nearest vectors, with a centre, a mask and removed rows', () => {
    const dimensions = 100;
    const centre = vectorOf(9, dimensions).map((value) => value * 0.8);
    const rows = new VectorRows(centre, 0);
    const count = 22_345;
    const vectors = Array.from({ length: count }, (_, i) => {
      const mixed = vectorOf(i, dimensions).map((value, at) => value * 0.5 + (centre[at] ?? 0));
      const length = Math.hypot(...mixed);
      return mixed.map((value) => value / length);
    });
    for (const [i, vector] of vectors.entries()) rows.add(i, packVector(vector, centre));
    for (let row = 0; row < count; row += 5) rows.remove(row);
    const owners = Uint8Array.from({ length: count }, (_, i) => (i % 3 === 0 && i % 5 !== 0 ? 1 : 0));
    for (const [wanted, passes] of [
      [everything, (row: number) => row % 5 !== 0],
      [{ rows: null, owners }, (row: number) => owners[row] === 1],
    ] as const) {
      let right = 0;
      for (let i = 0; i < 10; i += 1) {
        const query = vectors[i * 1_201] ?? centre;
        const products = found(rows, query, wanted);
        expect(products.size).toBeLessThan(count / 2);
        expect(eachOf([...products.keys()]).every(passes)).toBe(true);
        const nearest = vectors
          .map((vector, row) => ({ row, score: dot(query, vector) }))
          .filter(({ row }) => passes(row))
          .sort((a, b) => b.score - a.score)
          .slice(0, 10);
        right += nearest.filter(({ row }) => products.has(row)).length;
      }
      expect(right).toBeGreaterThanOrEqual(98);
    }
  }, 240_000);

  it('finds vectors that are nearer than thousands of identical ones', () => {
    const centre = new Float32Array(384);
    /** A random vector whose values are spread like those of real vectors: around zero, with a few outliers. */
    const bellVector = (seed: number) => {
      const random = randomFrom(seed);
      return Float32Array.from({ length: 384 }, () => random() + random() + random() + random() - 2);
    };
    const whole = bellVector(1);
    const query = whole.map((value) => value / Math.hypot(...whole));
    /** A vector whose product with the query is given, in a direction of its own otherwise. */
    const withProduct = (product: number, seed: number) => {
      const raw = bellVector(seed);
      const along = dot(raw, query);
      const across = raw.map((value, at) => value - along * (query[at] ?? 0));
      const share = Math.sqrt(1 - product ** 2) / Math.hypot(...across);
      return packVector(
        across.map((value, at) => share * value + product * (query[at] ?? 0)),
        centre,
      );
    };
    for (const crowded of [2, 3, 4, 5, 6]) {
      const rows = new VectorRows(centre, 0);
      const crowd = withProduct(0.45, crowded);
      const nearer = (i: number) => i >= 8_000 && i % 2_000 === 0;
      for (let i = 0; i < 24_000; i += 1)
        rows.add(i, i < 8_000 ? crowd : withProduct(nearer(i) ? 0.47 : (i % 200) / 1_000, i));
      const products = found(rows, query);
      expect([...products.keys()].filter(nearer)).toHaveLength(8);
      expect(products.size).toBeLessThan(12_000);
    }
  }, 240_000);

  it('accepts an empty set, and vectors equal to the centre', () => {
    const centre = vectorOf(1, 384);
    const rows = new VectorRows(centre, 0);
    expect(found(rows, centre).size).toBe(0);
    expect(rows.fineProducts(centre, []).length).toBe(0);
    for (let i = 0; i < 21_000; i += 1) rows.add(i, packVector(centre, centre));
    const products = found(rows, vectorOf(2, 384));
    expect(products.size).toBe(21_000);
    expect(eachOf([...products.values()]).every((product) => product === 0)).toBe(true);
  });

  it('keeps vectors almost exactly', () => {
    const [vector, centre] = [vectorOf(1, 384), vectorOf(2, 384)];
    const back = unpackVector(packVector(vector, centre), centre);
    for (const [i, value] of back.entries()) expect(value).toBeCloseTo(vector[i] ?? 0, 4);
  });
});

it('selects the best of many in any order, and the lower row among equals', () => {
  const random = randomFrom(3);
  const scored = Array.from({ length: 500 }, (_, row) => ({ row, score: Math.floor(random() * 40) }));
  const best = new Best(50);
  for (const { row, score } of scored.toSorted((a, b) => ((a.row * 7919) % 500) - ((b.row * 7919) % 500)))
    best.add(row, score);
  expect(best.takeSorted()).toEqual(
    scored.toSorted((a, b) => b.score - a.score || a.row - b.row).slice(0, 50),
  );
});

describe('one namespace', () => {
  const model = { id: 1, dimensions: 32, centre: new Float32Array(32), background: 0 };
  const labels = ['category:core', 'tag:even', 'tag:third', 'source:a'];
  const entry = (id: number, more: Partial<IndexedEntry> = {}): IndexedEntry => ({
    id,
    validUntil: id % 4 === 0 ? id : null,
    labels: labels.filter((_, i) => id % (i + 1) === 0),
    words: new Uint8Array(),
    near: new Uint8Array(),
    vectors: [packVector(vectorOf(id, 32), model.centre)],
    ...more,
  });
  const search = { namespace: 'n', now: 5_000, depth: 200, model: 1 };

  it('filters before it applies the limit, as plain JavaScript does, also after changes and removals', () => {
    const index = new NamespaceIndex(model, 0);
    const alive = new Map<number, IndexedEntry>();
    const put = (one: IndexedEntry) => {
      index.put(one);
      alive.set(one.id, one);
    };
    for (let id = 0; id < 21_000; id += 1) put(entry(id));
    for (let id = 0; id < 21_000; id += 7) {
      index.remove(id);
      alive.delete(id);
    }
    for (let id = 1; id < 21_000; id += 11) put(entry(id, { labels: ['tag:even'] }));
    for (const filter of [
      {},
      { strict: true },
      { tags: ['even'] },
      { tags: ['even', 'third'] },
      { category: 'core', tags: ['third'], source: 'a', strict: true },
      { tags: ['nobody has it'] },
    ]) {
      const asked = [
        ...(filter.category === undefined ? [] : [`category:${filter.category}`]),
        ...(filter.source === undefined ? [] : [`source:${filter.source}`]),
        ...(filter.tags ?? []).map((tag) => `tag:${tag}`),
      ];
      const passing = [...alive.values()].filter(
        ({ validUntil, labels: own }) =>
          asked.every((label) => own.includes(label)) &&
          (filter.strict !== true || validUntil === null || validUntil > search.now),
      );
      const vector = vectorOf(123_456, 32);
      const nearest = passing
        .map(({ id }) => ({ id, score: dot(vector, vectorOf(id, 32)) }))
        .sort((a, b) => b.score - a.score)
        .slice(0, 10);
      const { hits, cut } = index.dense({ ...search, filter, vector });
      expect(hits.slice(0, 10).map(({ id }) => id)).toEqual(nearest.map(({ id }) => id));
      for (const [i, { score }] of nearest.entries()) expect(hits[i]?.score).toBeCloseTo(score, 3);
      expect(cut).toBe(passing.length > search.depth);
      expect(hits.length).toBe(Math.min(search.depth, passing.length));
    }
  });

  it('counts an entry by its best chunk', () => {
    const index = new NamespaceIndex(model, 0);
    const near = vectorOf(1, 32);
    index.put(
      entry(1, { vectors: [vectorOf(5, 32), near, vectorOf(6, 32)].map((v) => packVector(v, model.centre)) }),
    );
    index.put(entry(2, { vectors: [] }));
    index.put(entry(3));
    const { hits } = index.dense({ ...search, filter: {}, vector: near });
    expect(hits.map(({ id }) => id)).toEqual([1, 3]);
    expect(hits[0]?.score).toBeCloseTo(1, 3);
  });
});
