/** A growing list of numbers in one typed array, which the garbage collector need not scan, however long it is. */
type Cells = Int32Array | Uint32Array | Float64Array | Uint8Array;

export class NumberList<T extends Cells> {
  #cells: T;
  readonly #make: (length: number) => T;
  #length = 0;

  constructor(make: (length: number) => T, capacity = FIRST_CAPACITY) {
    this.#make = make;
    this.#cells = make(Math.max(capacity, FIRST_CAPACITY));
  }

  get length(): number {
    return this.#length;
  }

  get bytes(): number {
    return this.#cells.byteLength;
  }

  /** The numbers are at its start. Valid until the next `push`. */
  get cells(): T {
    return this.#cells;
  }

  push(value: number): void {
    if (this.#length === this.#cells.length) {
      const bigger = this.#make(Math.ceil(this.#length * GROWTH));
      bigger.set(this.#cells);
      this.#cells = bigger;
    }
    this.#cells[this.#length] = value;
    this.#length += 1;
  }
}

const FIRST_CAPACITY = 4;
const GROWTH = 1.5;
