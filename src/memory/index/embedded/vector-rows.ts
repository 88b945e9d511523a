/**
 * Vectors of one namespace in WebAssembly memory, each relative to its model's centre, in three precisions: a bit, a
 * byte, and 12 bits for each dimension. A search goes from one precision to the next with fewer rows each time. All
 * products here omit the centre's part, which is the same for all rows.
 */
import { openVector } from '../../truth/vector-blob.ts';
import { Best } from './best.ts';
import { FINE_PER_STEP, writeGrades } from './row-grades.ts';
import { BLOCK, RANGES, RowLayout } from './row-layout.ts';
import { type Views, viewsOf } from './row-views.ts';
import { newScan, type Scan } from './scan.ts';
import { signTables } from './sign-tables.ts';

/**
 * Up to this size all rows are compared by their bytes: that takes a millisecond or two, and no crowd of similar rows
 * can hide one.
 */
const EXACT_ROWS = 20_000;
/**
 * Up to this share of all rows, listed rows are compared one by one, which costs less than comparing the signs of
 * all.
 */
const FEW_SHARE = 0.04;
/** Share of rows whose bytes are compared after their signs. Recall depends on it. */
const CANDIDATE_SHARE = 0.005;
const MIN_CANDIDATES = 1_000;
/** A quarter of the rows shows well enough what share reaches an estimate, unless a filter left few of them. */
const SAMPLE_STRIDE = 32;
const LEAST_SAMPLE = 10_000;
/** Keeps the products of queries of 384 to 4096 dimensions within 32 bits. */
const QUERY_LARGEST = 1_023;
/** Estimates of products between -2 and 2 as 16-bit integers. */
const ESTIMATE_SCALE = 16_384;
/** The error of a row's signs as a length, in units of the row's length. */
const SPREAD = Math.sqrt(Math.PI / 2 - 1);
/** Number of nearest rows that must stay visible. */
const NEAREST = 10;
/** Rows that are read and compared together: they fit into the fastest caches. */
const FETCHED = 1_024;
const GROWTH = 1.5;

export class VectorRows {
  readonly dimensions: number;
  readonly #centre: Float32Array;
  #layout: RowLayout;
  #scan: Scan;
  #views: Views;
  #count = 0;
  /** Total for all rows. */
  #lengths = 0;

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

  /** The slot of each row. */
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
    // A row is approximately its signs times this: the factor that gives the right product with itself.
    views.factors[row] = sum === 0 ? 0 : ((squares * scale) / sum) * ESTIMATE_SCALE;
    views.offsets[row] = centred * scale * ESTIMATE_SCALE;
    views.owners[row] = owner;
    views.alive[row] = 255;
    this.#lengths += Math.sqrt(squares) * scale;
    this.#count += 1;
  }

  remove(row: number): void {
    this.#views.alive[row] = 0;
  }

  /** The products of the query with each row compared by bytes, rows ascending. Valid until the next query. */
  search(query: Float32Array, wanted: Wanted): Compared {
    const scale = this.#writeQuery(query) * 16;
    const { rows } = wanted;
    if (rows === null && this.#count <= EXACT_ROWS) return this.#compareAll(wanted, scale);
    if (rows === null || rows.length > Math.max(EXACT_ROWS, this.#count * FEW_SHARE))
      return this.#bySigns(query, wanted, scale);
    this.#views.listed.set(rows);
    return this.#compareListed(rows.length, scale);
  }

  /** The products of the query with some rows, in full precision and in their order. */
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

  /**
   * Compares the rows with the best signs. They may all belong to one crowd that hides better rows just below. Then
   * the nearest of them are no better than the rows left out, and more rows are compared.
   */
  #bySigns(query: Float32Array, wanted: Wanted, scale: number): Compared {
    this.#estimate(query, wanted);
    const limit = this.#limit();
    const found = this.#compareListed(this.#select(limit), scale);
    const spread = this.#spread(query);
    const reached = bestOf(found);
    if (reached - spread >= limit / ESTIMATE_SCALE) return found;
    // Recomputed, because the products overwrote them.
    this.#estimate(query, wanted);
    return this.#compareListed(this.#select((reached - 2 * spread) * ESTIMATE_SCALE), scale);
  }

  #estimate(query: Float32Array, wanted: Wanted): void {
    const { tables, signs, signBytes, factors, offsets, out } = this.#layout;
    const { step, base } = signTables(query, this.#centre, this.#views.tables);
    const mask = this.#mask(wanted);
    this.#scan.estimates(tables, signs, this.#blocks(), signBytes, mask, factors, offsets, step, base, out);
  }

  /** Lists the rows whose estimate is high enough, and returns their number. */
  #select(limit: number): number {
    // The lowest number marks rows that are not accepted.
    const lowest = Math.max(-32_767, Math.floor(limit));
    return this.#scan.select(this.#layout.out, this.#blocks(), lowest, this.#layout.list);
  }

  #blocks(): number {
    return Math.ceil(this.#count / BLOCK);
  }

  /** The usual error of an estimate. */
  #spread(query: Float32Array): number {
    let squares = 0;
    for (let i = 0; i < this.dimensions; i += 1) squares += ((query[i] ?? 0) - (this.#centre[i] ?? 0)) ** 2;
    return SPREAD * Math.sqrt(squares / this.dimensions) * (this.#lengths / this.#count);
  }

  #compareListed(count: number, scale: number): Compared {
    const { query, rows, rowBytes, list, out, scales: scalesAt, owners } = this.#layout;
    for (let from = 0; from < count; from += FETCHED) {
      const next = Math.min(FETCHED, count - from);
      this.#scan.fetchAt(rows, list + from * 4, next, rowBytes, scalesAt, owners);
      this.#scan.dotsAt(query, rows, list + from * 4, next, rowBytes, out + from * 4);
    }
    const { dots, products, listed, scales } = this.#views;
    // Each in the place of its whole number.
    for (let i = 0; i < count; i += 1) products[i] = (dots[i] ?? 0) * (scales[listed[i] ?? 0] ?? 0) * scale;
    return { count, rows: listed, products };
  }

  #compareAll(wanted: Wanted, scale: number): Compared {
    const { query, rows, rowBytes, out } = this.#layout;
    this.#scan.dots(query, rows, this.#count, rowBytes, out);
    const { dots, products, listed, scales } = this.#views;
    let count = 0;
    for (let row = 0; row < this.#count; row += 1) {
      if (!this.#accepts(row, wanted.owners)) continue;
      // At the position of the whole number or an earlier one.
      products[count] = (dots[row] ?? 0) * (scales[row] ?? 0) * scale;
      listed[count] = row;
      count += 1;
    }
    return { count, rows: listed, products };
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

  /** The estimate that the wanted number of rows reaches. */
  #limit(): number {
    const { tally } = this.#views;
    let stride = SAMPLE_STRIDE;
    let accepted = this.#tally(stride);
    if (accepted < LEAST_SAMPLE) {
      stride = 8;
      accepted = this.#tally(stride);
    }
    const want = Math.max((MIN_CANDIDATES * 8) / stride, Math.ceil(accepted * CANDIDATE_SHARE));
    let range = RANGES - 1;
    for (let total = tally[range] ?? 0; total < want && range > 0; total += tally[range] ?? 0) range -= 1;
    return range * (65_536 / RANGES) - 32_768;
  }

  /** Counts estimates by range, for eight rows of every `stride`, and returns the total. */
  #tally(stride: number): number {
    const { tally } = this.#views;
    tally.fill(0);
    this.#scan.tally(this.#layout.out, this.#blocks() * BLOCK, stride, this.#layout.tally);
    let accepted = 0;
    for (let range = 0; range < RANGES; range += 1) accepted += tally[range] ?? 0;
    return accepted;
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

/** The rows of a search: the listed ones, or else those whose owner is not 0, or else all live ones. */
export interface Wanted {
  readonly rows: Int32Array | null;
  readonly owners: Uint8Array | null;
}

export interface Compared {
  readonly count: number;
  readonly rows: Int32Array;
  readonly products: Float32Array;
}

/** Scores of the nearest rows. */
function bestOf({ count, products }: Compared): number {
  const best = new Best(NEAREST);
  for (let i = 0; i < count; i += 1) {
    const product = products[i] ?? 0;
    if (product >= best.bar) best.add(i, product);
  }
  return best.bar;
}
