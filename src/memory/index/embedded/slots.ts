/**
 * The entries of a namespace by slot: their ids, and which ones a filter accepts. Entries take slots in order of
 * arrival; a removed entry leaves its slot dead.
 */
import { labelsOf } from '../labels.ts';
import type { Search } from '../search-index.ts';
import { NumberList } from './number-list.ts';

export interface Allowed {
  /** By slot: 0 for rejected ones. Valid until the next query. */
  readonly mask: Uint8Array;
  /** Accepted slots in ascending order, if the filter names labels. */
  readonly slots: Int32Array | null;
  /** Every live slot is accepted. */
  readonly all: boolean;
}

export class Slots {
  readonly #slotOf = new Map<number, number>();
  readonly #ids: NumberList<Float64Array>;
  readonly #alive: NumberList<Uint8Array>;
  /** In words. */
  readonly #lengths: NumberList<Uint32Array>;
  readonly #expiring = new NumberList(integers);
  readonly #expiry = new NumberList(floats);
  readonly #labelled = new Map<string, NumberList<Int32Array>>();
  #passing = new Uint8Array();
  #totalLength = 0;

  constructor(capacity: number) {
    this.#ids = new NumberList(floats, capacity);
    this.#alive = new NumberList((length) => new Uint8Array(length), capacity);
    this.#lengths = new NumberList((length) => new Uint32Array(length), capacity);
  }

  /** Dead ones included. */
  get count(): number {
    return this.#ids.length;
  }

  get alive(): number {
    return this.#slotOf.size;
  }

  get lengths(): Uint32Array {
    return this.#lengths.cells;
  }

  get averageLength(): number {
    return this.#totalLength / Math.max(1, this.alive) || 1;
  }

  get bytes(): number {
    const lists = [this.#ids, this.#alive, this.#lengths, this.#expiring, this.#expiry];
    const labels = [...this.#labelled.values()];
    const kept = [...lists, ...labels].reduce((sum, list) => sum + list.bytes, this.#passing.byteLength);
    // A number in a map takes about forty bytes.
    return kept + this.#slotOf.size * 40;
  }

  idOf(slot: number): number {
    return this.#ids.cells[slot] ?? 0;
  }

  add(id: number, length: number, validUntil: number | null, labels: readonly string[]): number {
    const slot = this.count;
    this.#slotOf.set(id, slot);
    this.#ids.push(id);
    this.#alive.push(1);
    this.#lengths.push(length);
    this.#totalLength += length;
    if (validUntil !== null) {
      this.#expiring.push(slot);
      this.#expiry.push(validUntil);
    }
    for (const label of labels) {
      const list = this.#labelled.get(label) ?? new NumberList(integers);
      this.#labelled.set(label, list);
      list.push(slot);
    }
    return slot;
  }

  /** The freed slot, or null. */
  remove(id: number): number | null {
    const slot = this.#slotOf.get(id);
    if (slot === undefined) return null;
    this.#slotOf.delete(id);
    this.#alive.cells[slot] = 0;
    this.#totalLength -= this.#lengths.cells[slot] ?? 0;
    return slot;
  }

  allowed({ filter, now }: Search): Allowed {
    const inTime = filter.strict === true ? this.#unexpired(now) : this.#alive.cells;
    const labels = labelsOf(filter);
    if (labels.length === 0) return { mask: inTime, slots: null, all: inTime === this.#alive.cells };
    const slots = kept(this.#carryingAll(labels), (slot) => inTime[slot] !== 0);
    const mask = this.#scratch().fill(0);
    for (let i = 0; i < slots.length; i += 1) mask[slots[i] ?? 0] = 1;
    return { mask, slots, all: false };
  }

  #unexpired(now: number): Uint8Array {
    const { cells: expiry, length } = this.#expiry;
    let mask = this.#alive.cells;
    for (let i = 0; i < length; i += 1) {
      if ((expiry[i] ?? 0) > now) continue;
      if (mask === this.#alive.cells) {
        mask = this.#scratch();
        mask.set(this.#alive.cells);
      }
      mask[this.#expiring.cells[i] ?? 0] = 0;
    }
    return mask;
  }

  #carryingAll(labels: readonly string[]): Int32Array {
    const lists = labels.map((label) => this.#labelled.get(label) ?? new NumberList(integers));
    const [shortest, ...others] = lists.sort((a, b) => a.length - b.length);
    let slots = shortest?.cells.subarray(0, shortest.length) ?? new Int32Array();
    for (const { cells, length } of others) {
      let at = 0;
      slots = kept(slots, (slot) => {
        at = firstFrom(cells, at, length, slot);
        return at < length && cells[at] === slot;
      });
    }
    return slots;
  }

  #scratch(): Uint8Array {
    const { length } = this.#alive.cells;
    if (this.#passing.length !== length) this.#passing = new Uint8Array(length);
    return this.#passing;
  }
}

/** Same as `filter`, many times faster. */
function kept(slots: Int32Array, keep: (slot: number) => boolean): Int32Array {
  const found = new Int32Array(slots.length);
  let count = 0;
  for (let i = 0; i < slots.length; i += 1) {
    const slot = slots[i] ?? 0;
    if (!keep(slot)) continue;
    found[count] = slot;
    count += 1;
  }
  return found.subarray(0, count);
}

function integers(length: number): Int32Array {
  return new Int32Array(length);
}

function floats(length: number): Float64Array {
  return new Float64Array(length);
}

/** Position of the first number not below `wanted` in an ascending list, from `at` on; searches in doubling steps. */
function firstFrom(cells: Int32Array, at: number, length: number, wanted: number): number {
  let [low, step] = [at, 1];
  while (low + step < length && (cells[low + step] ?? 0) < wanted) {
    low += step;
    step *= 2;
  }
  let high = Math.min(low + step, length);
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((cells[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
