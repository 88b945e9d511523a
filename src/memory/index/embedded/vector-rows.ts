/**
 * Vectors of one namespace in WebAssembly memory, each without its model's centre, in three grades: a bit, a
 * byte, and 12 bits for each dimension. A search goes from grade to grade with fewer rows each time. All
 * products here lack the centre's part, which is the same for all rows.
 */
import { openVector } from '../../truth/vector-blob.ts';
import { FINE_PER_STEP, writeGrades } from './row-grades.ts';
import { BLOCK, RANGES, RowLayout } from './row-layout.ts';
import { newScan, type Scan } from './scan.ts';
import { signTables } from './sign-tables.ts';

/** Up to here all rows are compared by their bytes: it takes a millisecond or two, and no crowd of similar rows can hide one. */
const EXACT_ROWS = 20_000;
/** Listed rows up to this share of all cost less one by one than going through the signs of all. */
const FEW_SHARE = 0.04;
/** Of the rows, the share whose bytes are compared after their signs have been; recall depends on it. */
const CANDIDATE_SHARE = 0.005;
const MIN_CANDIDATES = 1_000;
/** Fits the products of a 384- to 4096-dimensional query into 32 bits. */
const QUERY_LARGEST = 1_023;
/** Estimates of products between -2 and 2 as 16-bit integers. */
const ESTIMATE_SCALE = 16_384;
/** Rows that are fetched at a time and then compared: they fit into the nearest caches. */
const FETCHED = 1_024;
const GROWTH = 1.5;

export class VectorRows {
  readonly dimensions: number;
  readonly #centre: Float32Array;
  #layout: RowLayout;
  #scan: Scan;
  #views: Views;
  #count = 0;

  constructor(centre: Float32Array, capacity: number) {
    this.dimensions = centre.length;
    this.#centre = centre;
    this.#layout = new RowLayout(this.dimensions, capacity);
    this.#scan = newScan(this.#layout.end);
    this.#views = viewsOf(this.#scan, this.#layout);
  }

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#scan.memory.buffer.byteLength;
  }

  /** The slot that each row belongs to. */
  get owners(): Int32Array {
    return this.#views.owners;
  }

  add(owner: number, blob: Uint8Array): void {
    if (this.#count === this.#layout.capacity) this.#grow();
    const row = this.#count;
    const views = this.#views;
    const { scale, steps } = openVector(blob);
    writeGrades(this.#layout, views.bytes, row, steps);
    let [sum, squares, centred] = [0, 0, 0];
    for (let i = 0; i < this.dimensions; i += 1) {
      const step = steps[i] ?? 0;
      sum += Math.abs(step);
      squares += step * step;
      centred += step * (this.#centre[i] ?? 0);
    }
    views.scales[row] = scale / FINE_PER_STEP;
    // The row is about its signs times this: the length along them that gives the right product with itself.
    views.factors[row] = sum === 0 ? 0 : ((squares * scale) / sum) * ESTIMATE_SCALE;
    views.offsets[row] = centred * scale * ESTIMATE_SCALE;
    views.owners[row] = owner;
    views.alive[row] = 255;
    this.#count += 1;
  }

  remove(row: number): void {
    this.#views.alive[row] = 0;
  }

  /** The query times each row that is compared by its bytes, rows ascending. Valid until the next question. */
  search(query: Float32Array, wanted: Wanted): Compared {
    const queryScale = this.#writeQuery(query) * 16;
    const chosen = this.#choose(query, wanted);
    this.#compare(chosen);
    const { dots, products, listed, scales } = this.#views;
    let count = 0;
    for (let i = 0; i < (chosen ?? this.#count); i += 1) {
      const row = chosen === null ? i : (listed[i] ?? 0);
      // Chosen rows have been accepted already.
      if (chosen === null && !this.#accepts(row, wanted.owners)) continue;
      // In the place of the whole number, or of one before it.
      products[count] = (dots[i] ?? 0) * (scales[row] ?? 0) * queryScale;
      listed[count] = row;
      count += 1;
    }
    return { count, rows: listed, products };
  }

  /** The query times some rows, as exactly as they are kept here, in their order. */
  fineProducts(query: Float32Array, rows: ArrayLike<number>): Float32Array {
    const layout = this.#layout;
    const { listed, fineQuery, products, scales } = this.#views;
    fineQuery.set(query);
    listed.set(rows);
    this.#scan.fineAt(
      layout.fineQuery,
      layout.rows,
      layout.tails,
      layout.list,
      rows.length,
      layout.rowBytes,
      layout.out,
    );
    return products.slice(0, rows.length).map((dot, i) => dot * (scales[rows[i] ?? 0] ?? 0));
  }

  /** Lists the rows worth comparing and gives their number; null when all are. */
  #choose(query: Float32Array, wanted: Wanted): number | null {
    if (wanted.rows !== null && wanted.rows.length <= Math.max(EXACT_ROWS, this.#count * FEW_SHARE)) {
      this.#views.listed.set(wanted.rows);
      return wanted.rows.length;
    }
    if (this.#count <= EXACT_ROWS) return null;
    const { tables, signs, signBytes, factors, offsets, list, out, tally } = this.#layout;
    const { step, base } = signTables(query, this.#centre, this.#views.tables);
    const blocks = Math.ceil(this.#count / BLOCK);
    const mask = this.#mask(wanted);
    this.#scan.estimates(tables, signs, blocks, signBytes, mask, factors, offsets, step, base, out);
    this.#views.tally.fill(0);
    this.#scan.tally(out, blocks * BLOCK, tally);
    return this.#scan.select(out, blocks, this.#limit(), list);
  }

  #compare(chosen: number | null): void {
    const { query, rows, rowBytes, list, out, scales, owners } = this.#layout;
    if (chosen === null) this.#scan.dots(query, rows, this.#count, rowBytes, out);
    for (let from = 0; from < (chosen ?? 0); from += FETCHED) {
      const count = Math.min(FETCHED, (chosen ?? 0) - from);
      this.#scan.fetchAt(rows, list + from * 4, count, rowBytes, scales, owners);
      this.#scan.dotsAt(query, rows, list + from * 4, count, rowBytes, out + from * 4);
    }
  }

  #accepts(row: number, owners: Uint8Array | null): boolean {
    const { alive, owners: ownerOf } = this.#views;
    return (owners === null ? alive[row] : owners[ownerOf[row] ?? 0]) !== 0;
  }

  #mask({ rows, owners }: Wanted): number {
    const { accepted, owners: ownerOf } = this.#views;
    if (rows !== null) {
      accepted.fill(0);
      for (let i = 0; i < rows.length; i += 1) accepted[rows[i] ?? 0] = 255;
    } else if (owners !== null) {
      for (let row = 0; row < this.#count; row += 1)
        accepted[row] = owners[ownerOf[row] ?? 0] === 0 ? 0 : 255;
      accepted.fill(0, this.#count);
    } else return this.#layout.alive;
    return this.#layout.accepted;
  }

  /** The estimate that as many rows reach as are wanted. */
  #limit(): number {
    const { tally } = this.#views;
    let accepted = 0;
    for (let range = 0; range < RANGES; range += 1) accepted += tally[range] ?? 0;
    const want = Math.max(MIN_CANDIDATES, Math.ceil(accepted * CANDIDATE_SHARE));
    let range = RANGES - 1;
    for (let total = tally[range] ?? 0; total < want && range > 0; total += tally[range] ?? 0) range -= 1;
    // The lowest number of all stands for rows that are not accepted.
    return Math.max(-32_767, range * (65_536 / RANGES) - 32_768);
  }

  #writeQuery(query: Float32Array): number {
    let largest = 0;
    for (const value of query) largest = Math.max(largest, Math.abs(value));
    const scale = (largest || 1) / QUERY_LARGEST;
    const { query: steps } = this.#views;
    for (let i = 0; i < this.dimensions; i += 1) steps[i] = Math.round((query[i] ?? 0) / scale);
    return scale;
  }

  #grow(): void {
    const layout = new RowLayout(this.dimensions, Math.ceil(this.#layout.capacity * GROWTH));
    const scan = newScan(layout.end);
    const from = this.#views.bytes;
    const to = new Uint8Array(scan.memory.buffer);
    const targets = layout.kept();
    for (const [i, { start, bytes }] of this.#layout.kept().entries())
      to.set(from.subarray(start, start + bytes), targets[i]?.start);
    this.#layout = layout;
    this.#scan = scan;
    this.#views = viewsOf(scan, layout);
  }
}

/** Which rows a search looks at: those listed, or else those whose owner has not 0, or else all that are alive. */
export interface Wanted {
  readonly rows: Int32Array | null;
  readonly owners: Uint8Array | null;
}

export interface Compared {
  readonly count: number;
  readonly rows: Int32Array;
  readonly products: Float32Array;
}

/** Made once: there are as many as there are kinds of things, and a search needs most of them. */
interface Views {
  readonly bytes: Uint8Array;
  readonly query: Int16Array;
  readonly fineQuery: Float32Array;
  readonly tables: Uint8Array;
  readonly tally: Uint32Array;
  readonly listed: Int32Array;
  readonly dots: Int32Array;
  /** Where `dots` are, too. */
  readonly products: Float32Array;
  readonly alive: Uint8Array;
  readonly accepted: Uint8Array;
  readonly owners: Int32Array;
  readonly scales: Float32Array;
  readonly factors: Float32Array;
  readonly offsets: Float32Array;
}

function viewsOf({ memory: { buffer } }: Scan, layout: RowLayout): Views {
  const { capacity, rowBytes } = layout;
  return {
    bytes: new Uint8Array(buffer),
    query: new Int16Array(buffer, layout.query, rowBytes),
    fineQuery: new Float32Array(buffer, layout.fineQuery, rowBytes),
    tables: new Uint8Array(buffer, layout.tables, rowBytes * 4),
    tally: new Uint32Array(buffer, layout.tally, RANGES),
    listed: new Int32Array(buffer, layout.list, capacity),
    dots: new Int32Array(buffer, layout.out, capacity),
    products: new Float32Array(buffer, layout.out, capacity),
    alive: new Uint8Array(buffer, layout.alive, capacity),
    accepted: new Uint8Array(buffer, layout.accepted, capacity),
    owners: new Int32Array(buffer, layout.owners, capacity),
    scales: new Float32Array(buffer, layout.scales, capacity),
    factors: new Float32Array(buffer, layout.factors, capacity),
    offsets: new Float32Array(buffer, layout.offsets, capacity),
  };
}
