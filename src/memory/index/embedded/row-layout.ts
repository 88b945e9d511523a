/** Memory layout of a scan for `capacity` rows. All offsets are multiples of 16. */
export class RowLayout {
  /** A multiple of `BLOCK`. */
  readonly capacity: number;
  readonly rowBytes: number;
  readonly signBytes: number;
  /** The query in 16 bits and in floats, and its sums for every four signs. */
  readonly query: number;
  readonly fineQuery: number;
  readonly tables: number;
  readonly tally: number;
  /** Rows by number, and the results for rows. */
  readonly list: number;
  readonly out: number;
  /** 255 for live rows, and for rows that one search accepts. */
  readonly alive: number;
  readonly accepted: number;
  readonly owners: number;
  readonly scales: number;
  readonly factors: number;
  readonly offsets: number;
  readonly signs: number;
  readonly rows: number;
  readonly tails: number;
  readonly end: number;

  constructor(dimensions: number, capacity: number) {
    this.capacity = Math.ceil(Math.max(capacity, SMALLEST_CAPACITY) / BLOCK) * BLOCK;
    this.rowBytes = Math.ceil(dimensions / 16) * 16;
    this.signBytes = this.rowBytes / 8;
    let end = 0;
    const place = (bytes: number) => {
      const start = end;
      end = Math.ceil((start + bytes) / 16) * 16;
      return start;
    };
    this.query = place(this.rowBytes * 2);
    this.fineQuery = place(this.rowBytes * 4);
    this.tables = place(this.rowBytes * 4);
    this.tally = place(RANGES * 4);
    this.list = place(this.capacity * 4);
    this.out = place(this.capacity * 4);
    this.alive = place(this.capacity);
    this.accepted = place(this.capacity);
    this.owners = place(this.capacity * 4);
    this.scales = place(this.capacity * 4);
    this.factors = place(this.capacity * 4);
    this.offsets = place(this.capacity * 4);
    this.signs = place(this.capacity * this.signBytes);
    this.rows = place(this.capacity * this.rowBytes);
    this.tails = place((this.capacity * this.rowBytes) / 2);
    this.end = end;
  }

  /** Buffers reused from search to search, always in the same order. */
  kept(): { start: number; bytes: number }[] {
    const starts = [
      [this.alive, 1],
      [this.owners, 4],
      [this.scales, 4],
      [this.factors, 4],
      [this.offsets, 4],
      [this.signs, this.signBytes],
      [this.rows, this.rowBytes],
      [this.tails, this.rowBytes / 2],
    ] as const;
    return starts.map(([start, each]) => ({ start, bytes: each * this.capacity }));
  }

  /** Offset of the first of a row's sign bytes; the next is `BLOCK` further. */
  signsOf(row: number): number {
    return this.signs + Math.floor(row / BLOCK) * BLOCK * this.signBytes + (row % BLOCK);
  }
}

/** Number of rows whose signs are stored together. */
export const BLOCK = 32;
/** Number of estimate ranges that `tally` counts. */
export const RANGES = 4_096;
const SMALLEST_CAPACITY = 256;
