/**
 * Vectors of one namespace in WebAssembly memory: a byte for each dimension, and its sign as a bit. A search
 * compares every row; above `EXACT_ROWS` the signs choose the rows worth comparing, which costs a fifth.
 * What lies here is what remains of a vector without its model's centre; the caller adds the centre's part.
 */
import { readFileSync } from 'node:fs';
import { openVector } from '../../truth/vector-blob.ts';

/** Up to here comparing all rows is as fast as choosing first. */
const EXACT_ROWS = 20_000;
/** Of the rows, the share that is compared exactly after the signs have been; recall depends on it. */
const CANDIDATE_SHARE = 0.03;
const MIN_CANDIDATES = 5_000;
/** Fits the products of a 384- to 4096-dimensional query into 32 bits. */
const QUERY_LARGEST = 1_023;
/** From the 16 bits that are kept to the 8 that are compared here: 32767 becomes 127. */
const STEPS_PER_BYTE = 32_767 / 127;
/** Every so many rows one is counted to find the distance that lets the wanted share through. */
const SAMPLED = 8;
const PAGE = 65_536;
const SMALLEST_CAPACITY = 256;
const GROWTH = 1.5;

interface Kernel {
  readonly memory: WebAssembly.Memory;
  dots(query: number, rows: number, count: number, size: number, out: number): void;
  dotsAt(query: number, rows: number, list: number, count: number, size: number, out: number): void;
  distances(query: number, rows: number, count: number, size: number, out: number): void;
}

export class VectorRows {
  readonly dimensions: number;
  count = 0;
  /** The entry slot that each row belongs to. */
  owners: Int32Array;
  readonly #rowBytes: number;
  readonly #signBytes: number;
  #scales: Float32Array;
  #kernel: Kernel;
  #capacity: number;

  constructor(dimensions: number, capacity = SMALLEST_CAPACITY) {
    this.dimensions = dimensions;
    this.#rowBytes = Math.ceil(dimensions / 16) * 16;
    this.#signBytes = Math.ceil(dimensions / 128) * 16;
    this.#capacity = Math.max(capacity, SMALLEST_CAPACITY);
    this.#kernel = newKernel(this.#bytesNeeded());
    this.#scales = new Float32Array(this.#capacity);
    this.owners = new Int32Array(this.#capacity);
  }

  get bytes(): number {
    return this.#kernel.memory.buffer.byteLength + this.#scales.byteLength + this.owners.byteLength;
  }

  add(owner: number, blob: Uint8Array): void {
    if (this.count === this.#capacity) this.#grow();
    const { scale, steps } = openVector(blob);
    const row = this.count;
    const bytes = this.#memory(Int8Array, this.#rowsAt() + row * this.#rowBytes, this.dimensions);
    for (let i = 0; i < bytes.length; i += 1) bytes[i] = Math.round((steps[i] ?? 0) / STEPS_PER_BYTE);
    this.#scales[row] = scale * STEPS_PER_BYTE;
    this.owners[row] = owner;
    this.count += 1;
    this.#writeSigns(this.#signsAt() + row * this.#signBytes, bytes);
  }

  /**
   * The product of the query with each row that is compared; `visit` gets rows in ascending order. `rest` is
   * the query without the centre: its signs are what the rows' signs are like.
   */
  search(
    query: Float32Array,
    rest: Float32Array,
    wanted: RowFilter,
    visit: (row: number, product: number) => void,
  ): void {
    const queryScale = this.#writeQuery(query);
    const list = wanted.rows ?? (this.count > EXACT_ROWS ? this.#candidates(rest, wanted.accepts) : null);
    const count = list?.length ?? this.count;
    if (list === null) {
      this.#kernel.dots(0, this.#rowsAt(), count, this.#rowBytes, this.#outAt());
    } else {
      this.#memory(Int32Array, this.#listAt(), count).set(list);
      this.#kernel.dotsAt(0, this.#rowsAt(), this.#listAt(), count, this.#rowBytes, this.#outAt());
    }
    const dots = this.#memory(Int32Array, this.#outAt(), count);
    for (let i = 0; i < count; i += 1) {
      // Listed rows have been accepted already.
      const row = list === null ? i : (list[i] ?? 0);
      if (list === null && !wanted.accepts(row)) continue;
      visit(row, (dots[i] ?? 0) * (this.#scales[row] ?? 0) * queryScale);
    }
  }

  /** The accepted rows whose signs differ least from the query's. */
  #candidates(rest: Float32Array, accepts: (row: number) => boolean): Int32Array {
    this.#writeSigns(this.#querySignsAt(), rest);
    this.#kernel.distances(this.#querySignsAt(), this.#signsAt(), this.count, this.#signBytes, this.#outAt());
    const distances = this.#memory(Uint16Array, this.#outAt(), this.count);
    const want = Math.max(MIN_CANDIDATES, Math.ceil(this.count * CANDIDATE_SHARE));
    return nearest(distances, accepts, want, this.#signBytes * 8);
  }

  #writeSigns(at: number, values: ArrayLike<number>): void {
    const signs = this.#memory(Uint8Array, at, this.#signBytes).fill(0);
    for (let i = 0; i < this.dimensions; i += 1) {
      if ((values[i] ?? 0) > 0) signs[i >> 3] = (signs[i >> 3] ?? 0) | (1 << (i & 7));
    }
  }

  #writeQuery(query: Float32Array): number {
    let largest = 0;
    for (const value of query) largest = Math.max(largest, Math.abs(value));
    const scale = (largest || 1) / QUERY_LARGEST;
    const steps = this.#memory(Int16Array, 0, this.#rowBytes).fill(0);
    for (let i = 0; i < this.dimensions; i += 1) steps[i] = Math.round((query[i] ?? 0) / scale);
    return scale;
  }

  #grow(): void {
    const bigger = new VectorRows(this.dimensions, Math.ceil(this.#capacity * GROWTH));
    const copy = (from: number, to: number, length: number) =>
      bigger.#memory(Uint8Array, to, length).set(this.#memory(Uint8Array, from, length));
    copy(this.#rowsAt(), bigger.#rowsAt(), this.count * this.#rowBytes);
    copy(this.#signsAt(), bigger.#signsAt(), this.count * this.#signBytes);
    bigger.#scales.set(this.#scales);
    bigger.owners.set(this.owners);
    this.#kernel = bigger.#kernel;
    this.#capacity = bigger.#capacity;
    this.#scales = bigger.#scales;
    this.owners = bigger.owners;
  }

  // Where things lie: query, its signs, list, results, signs, rows. All starts are multiples of 16.
  #querySignsAt(): number {
    return this.#rowBytes * 2;
  }
  #listAt(): number {
    return this.#querySignsAt() + this.#signBytes;
  }
  #outAt(): number {
    return this.#listAt() + aligned(this.#capacity * 4);
  }
  #signsAt(): number {
    return this.#outAt() + aligned(this.#capacity * 4);
  }
  #rowsAt(): number {
    return this.#signsAt() + this.#capacity * this.#signBytes;
  }
  #bytesNeeded(): number {
    return this.#rowsAt() + this.#capacity * this.#rowBytes;
  }

  #memory<T>(
    view: new (buffer: ArrayBuffer, at: number, length: number) => T,
    at: number,
    length: number,
  ): T {
    return new view(this.#kernel.memory.buffer, at, length);
  }
}

export interface RowFilter {
  accepts(row: number): boolean;
  /** All rows that are accepted, when they are few. */
  readonly rows: Int32Array | null;
}

/** About `want` of all rows, those that are accepted, found by counting how many rows lie at each distance. */
function nearest(
  distances: Uint16Array,
  accepts: (row: number) => boolean,
  want: number,
  largest: number,
): Int32Array {
  const at = new Uint32Array(largest + 1);
  for (let row = 0; row < distances.length; row += SAMPLED) {
    const distance = distances[row] ?? 0;
    at[distance] = (at[distance] ?? 0) + SAMPLED;
  }
  let limit = 0;
  for (let total = at[0] ?? 0; total < want && limit < largest; total += at[limit] ?? 0) limit += 1;
  // Filled in place: this loop passes every row of the namespace.
  const rows = new Int32Array(distances.length);
  let found = 0;
  for (let row = 0; row < distances.length; row += 1) {
    if ((distances[row] ?? 0) > limit || !accepts(row)) continue;
    rows[found] = row;
    found += 1;
  }
  return rows.subarray(0, found);
}

function newKernel(bytes: number): Kernel {
  const { exports } = new WebAssembly.Instance(compiled());
  const { memory, dots, dotsAt, distances } = exports;
  if (
    !(memory instanceof WebAssembly.Memory) ||
    typeof dots !== 'function' ||
    typeof dotsAt !== 'function' ||
    typeof distances !== 'function'
  ) {
    throw new TypeError('scan.wasm lacks an export');
  }
  memory.grow(Math.ceil(bytes / PAGE));
  return {
    memory,
    dots: (...values) => dots(...values),
    dotsAt: (...values) => dotsAt(...values),
    distances: (...values) => distances(...values),
  };
}

let module: WebAssembly.Module | undefined;
function compiled(): WebAssembly.Module {
  module ??= new WebAssembly.Module(readFileSync(new URL('./scan.wasm', import.meta.url)));
  return module;
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / 16) * 16;
}
