/** Sums BM25 by slot. Its arrays are reused from search to search: as long as the namespace, mostly untouched. */
import { saturation } from '../bm25.ts';
import { Best } from './best.ts';
import { countOf, type Posted, slotOf } from './postings.ts';

export class WordScores {
  #scores = new Float32Array();
  #touched = new Int32Array();
  #count = 0;

  get bytes(): number {
    return this.#scores.byteLength + this.#touched.byteLength;
  }

  /** Clears everything. `slots`: how many there are. */
  clear(slots: number): void {
    for (let i = 0; i < this.#count; i += 1) this.#scores[this.#touched[i] ?? 0] = 0;
    this.#count = 0;
    if (this.#scores.length >= slots) return;
    this.#scores = new Float32Array(Math.ceil(slots * GROWTH));
    this.#touched = new Int32Array(this.#scores.length);
  }

  add(
    { cells, start, end }: Posted,
    weight: number,
    lengths: ArrayLike<number>,
    averageLength: number,
  ): void {
    const scores = this.#scores;
    const touched = this.#touched;
    let count = this.#count;
    for (let at = start; at < end; at += 1) {
      const cell = cells[at] ?? 0;
      const slot = slotOf(cell);
      const before = scores[slot] ?? 0;
      if (before === 0) {
        touched[count] = slot;
        count += 1;
      }
      scores[slot] = before + weight * saturation(countOf(cell), lengths[slot] ?? 0, averageLength);
    }
    this.#count = count;
  }

  /** The best slots where `mask` is not 0. */
  best(mask: Uint8Array, size: number): Best {
    const best = new Best(size);
    for (let i = 0; i < this.#count; i += 1) {
      const slot = this.#touched[i] ?? 0;
      const score = this.#scores[slot] ?? 0;
      if (mask[slot] !== 0 && score >= best.bar) best.add(slot, score);
    }
    return best;
  }
}

const GROWTH = 1.25;
