/**
 * For each word the slots that contain it, ascending, with counts. All lists are in one array. A full list moves to a
 * place of twice the size, and its old place is reused by another list.
 */
const SLOT_SHIFT = 8;
const MAX_COUNT = 255;
const FIRST_CAPACITY = 2;

interface List {
  start: number;
  capacity: number;
  length: number;
}

export interface Posted {
  readonly cells: Uint32Array;
  readonly start: number;
  readonly end: number;
}

export function slotOf(cell: number): number {
  return cell >>> SLOT_SHIFT;
}

export function countOf(cell: number): number {
  return cell & MAX_COUNT;
}

export class Postings {
  readonly #lists = new Map<number, List>();
  /** Free places by capacity. */
  readonly #free = new Map<number, number[]>();
  #cells = new Uint32Array(1024);
  #used = 0;

  get bytes(): number {
    // A list and its entry in the map take about a hundred bytes.
    return this.#cells.byteLength + this.#lists.size * 100;
  }

  /** Slots must be added in ascending order. */
  add(word: number, slot: number, count: number): void {
    const list = this.#lists.get(word) ?? this.#newList(word);
    if (list.length === list.capacity) this.#move(list);
    this.#cells[list.start + list.length] = slot * (1 << SLOT_SHIFT) + Math.min(count, MAX_COUNT);
    list.length += 1;
  }

  /** How many slots contain the word. */
  size(word: number): number {
    return this.#lists.get(word)?.length ?? 0;
  }

  /** The position of a word's cells, valid until the next `add`; see `slotOf` and `countOf`. */
  posted(word: number): Posted {
    const { start, length } = this.#lists.get(word) ?? { start: 0, length: 0 };
    return { cells: this.#cells, start, end: start + length };
  }

  #newList(word: number): List {
    const list = { start: this.#place(FIRST_CAPACITY), capacity: FIRST_CAPACITY, length: 0 };
    this.#lists.set(word, list);
    return list;
  }

  #move(list: List): void {
    const start = this.#place(list.capacity * 2);
    this.#cells.copyWithin(start, list.start, list.start + list.length);
    const free = this.#free.get(list.capacity) ?? [];
    free.push(list.start);
    this.#free.set(list.capacity, free);
    list.start = start;
    list.capacity *= 2;
  }

  #place(capacity: number): number {
    const free = this.#free.get(capacity)?.pop();
    if (free !== undefined) return free;
    if (this.#used + capacity > this.#cells.length) {
      const bigger = new Uint32Array(Math.max(this.#cells.length * 2, this.#used + capacity));
      bigger.set(this.#cells);
      this.#cells = bigger;
    }
    this.#used += capacity;
    return this.#used - capacity;
  }
}
