/** Keeps the `size` best of many scored rows: higher score first, lower row first among equals. */
export class Best {
  readonly #rows: Int32Array;
  readonly #scores: Float64Array;
  #count = 0;

  constructor(size: number) {
    this.#rows = new Int32Array(size);
    this.#scores = new Float64Array(size);
  }

  /** Lower scores need not be added. Checking first is cheaper, because most rows are lower. */
  get bar(): number {
    return this.#count === this.#rows.length ? (this.#scores[0] ?? 0) : Number.NEGATIVE_INFINITY;
  }

  add(row: number, score: number): void {
    const size = this.#rows.length;
    if (this.#count === size) {
      if (this.#worse(row, score, 0)) return;
      this.#sink(row, score, size);
      return;
    }
    // Sift up: the worst is at the top.
    let at = this.#count;
    this.#count += 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#worse(row, score, parent)) break;
      this.#move(parent, at);
      at = parent;
    }
    this.#put(at, row, score);
  }

  /** Empties it, which is faster than a sort with a callback. */
  takeSorted(): { row: number; score: number }[] {
    const sorted: { row: number; score: number }[] = [];
    for (let size = this.#count - 1; size >= 0; size -= 1) {
      sorted.push({ row: this.#rows[0] ?? 0, score: this.#scores[0] ?? 0 });
      this.#sink(this.#rows[size] ?? 0, this.#scores[size] ?? 0, size);
    }
    this.#count = 0;
    return sorted.reverse();
  }

  #sink(row: number, score: number, size: number): void {
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= size) break;
      if (child + 1 < size && this.#worse(this.#rows[child + 1] ?? 0, this.#scores[child + 1] ?? 0, child))
        child += 1;
      if (this.#worse(row, score, child)) break;
      this.#move(child, at);
      at = child;
    }
    this.#put(at, row, score);
  }

  #worse(row: number, score: number, than: number): boolean {
    const other = this.#scores[than] ?? 0;
    return score < other || (score === other && row > (this.#rows[than] ?? 0));
  }

  #move(from: number, to: number): void {
    this.#put(to, this.#rows[from] ?? 0, this.#scores[from] ?? 0);
  }

  #put(at: number, row: number, score: number): void {
    this.#rows[at] = row;
    this.#scores[at] = score;
  }
}
