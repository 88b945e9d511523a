/**
 * Both halves for one namespace, in memory. Entries take slots in the order in which they come; a changed
 * entry takes a new slot and leaves its old one dead, and an index with too many dead slots is loaded anew.
 */
import { wordHash } from '../../text/words.ts';
import type { Model } from '../../truth/models.ts';
import { unpackWords } from '../../truth/word-blob.ts';
import { idf, K1, saturation } from '../bm25.ts';
import { labelsOf } from '../labels.ts';
import type { DenseSearch, Hit, Hits, KeywordSearch, Search } from '../search-index.ts';
import { Best } from './best.ts';
import { Postings } from './postings.ts';
import { type RowFilter, VectorRows } from './vector-rows.ts';

/** An entry as an index sees it. Superseded entries are not in an index at all. */
export interface IndexedEntry {
  readonly id: number;
  readonly validUntil: number | null;
  /** `category:…`, `tag:…`, `source:…`. */
  readonly labels: readonly string[];
  readonly words: Uint8Array;
  /** Packed vectors of the index's model, one for each chunk; none while it waits for the embedder. */
  readonly vectors: readonly Uint8Array[];
}

/** Hits that are put in order by the vectors as they are kept, not by the rougher ones here. */
const REFINED = 64;
/** A filter that lets so few slots through is answered by looking at just these. */
const FEW = 0.25;
const MIN_DEAD = 1_000;

export class NamespaceIndex {
  /** Null while no embedder has answered yet: there are no vectors then. */
  readonly model: Model | null;
  readonly #vectors: VectorRows;
  readonly #postings = new Postings();
  readonly #slots = new Map<number, number>();
  readonly #ids: number[] = [];
  readonly #alive: boolean[] = [];
  readonly #validUntil: number[] = [];
  readonly #lengths: number[] = [];
  /** The first vector row of each slot; the next slot's is where its rows end. */
  readonly #firstRow: number[] = [0];
  readonly #labelled = new Map<string, number[]>();
  #totalLength = 0;

  constructor(model: Model | null, capacity: number) {
    this.model = model;
    this.#vectors = new VectorRows(model?.dimensions ?? 0, model === null ? 0 : capacity);
  }

  get size(): number {
    return this.#slots.size;
  }

  get bytes(): number {
    return this.#vectors.bytes + this.#postings.bytes + this.#ids.length * 48;
  }

  /** Half of it is dead weight. */
  get wasteful(): boolean {
    return this.#ids.length - this.size > Math.max(this.size, MIN_DEAD);
  }

  put(entry: IndexedEntry): void {
    this.remove(entry.id);
    const slot = this.#ids.push(entry.id) - 1;
    this.#slots.set(entry.id, slot);
    this.#alive.push(true);
    this.#validUntil.push(entry.validUntil ?? Number.POSITIVE_INFINITY);
    const { hashes, counts } = unpackWords(entry.words);
    let length = 0;
    for (let i = 0; i < hashes.length; i += 1) {
      this.#postings.add(hashes[i] ?? 0, slot, counts[i] ?? 0);
      length += counts[i] ?? 0;
    }
    this.#lengths.push(length);
    this.#totalLength += length;
    for (const label of entry.labels) {
      const slots = this.#labelled.get(label);
      if (slots === undefined) this.#labelled.set(label, [slot]);
      else slots.push(slot);
    }
    for (const vector of entry.vectors) this.#vectors.add(slot, vector);
    this.#firstRow.push(this.#vectors.count);
  }

  remove(id: number): void {
    const slot = this.#slots.get(id);
    if (slot === undefined) return;
    this.#slots.delete(id);
    this.#alive[slot] = false;
    this.#totalLength -= this.#lengths[slot] ?? 0;
  }

  /** `keptProducts`: the query times each entry's best vector, as the truth has it, without the centre's part. */
  dense(search: DenseSearch, keptProducts: (ids: readonly number[]) => ReadonlyMap<number, number>): Hits {
    const query = search.vector;
    const centre = this.model?.centre ?? new Float32Array(query.length);
    const rest = query.map((value, i) => value - (centre[i] ?? 0));
    const best = new Best(search.depth + 1);
    const allowed = this.#allowed(search);
    let owner = -1;
    let product = 0;
    const flush = () => {
      if (owner >= 0) best.add(owner, product);
    };
    // The rows of an entry follow each other, so its best chunk is known when the next entry begins.
    this.#vectors.search(query, rest, this.#rowFilter(allowed), (row, value) => {
      const slot = this.#vectors.owners[row] ?? 0;
      if (slot === owner) product = Math.max(product, value);
      else {
        flush();
        owner = slot;
        product = value;
      }
    });
    flush();
    const found = best.sorted();
    const common = query.reduce((sum, value, i) => sum + value * (centre[i] ?? 0), 0);
    const rough = found.slice(0, search.depth).map(({ row, score }) => ({ id: this.#ids[row] ?? 0, score }));
    const kept = keptProducts(rough.slice(0, REFINED).map(({ id }) => id));
    const hits = rough.map(({ id, score }) => ({ id, score: common + (kept.get(id) ?? score) }));
    return { hits: hits.sort(byScore), cut: found.length > search.depth, ceiling: 1 };
  }

  keyword(search: KeywordSearch): Hits {
    const scores = new Float32Array(this.#ids.length);
    const averageLength = this.#totalLength / Math.max(1, this.size) || 1;
    let ceiling = 0;
    for (const word of search.words) {
      const hash = wordHash(word);
      const weight = idf(this.size, Math.min(this.#postings.size(hash), this.size));
      ceiling += weight * (K1 + 1);
      this.#postings.each(hash, (slot, count) => {
        scores[slot] =
          (scores[slot] ?? 0) + weight * saturation(count, this.#lengths[slot] ?? 0, averageLength);
      });
    }
    const best = new Best(search.depth + 1);
    const { accepts } = this.#allowed(search);
    for (let slot = 0; slot < scores.length; slot += 1) {
      const score = scores[slot] ?? 0;
      if (score > 0 && accepts(slot)) best.add(slot, score);
    }
    const found = best.sorted();
    const hits = found.slice(0, search.depth).map(({ row, score }) => ({ id: this.#ids[row] ?? 0, score }));
    return { hits: hits.sort(byScore), cut: found.length > search.depth, ceiling };
  }

  #allowed({ filter, now }: Search): SlotFilter {
    const alive = this.#alive;
    const lists = labelsOf(filter).map((label) => this.#labelled.get(label) ?? []);
    const inTime =
      filter.strict === true ? (slot: number) => (this.#validUntil[slot] ?? 0) > now : () => true;
    const shortest = lists.toSorted((a, b) => a.length - b.length)[0];
    if (shortest === undefined) {
      return { accepts: (slot) => (alive[slot] ?? false) && inTime(slot), few: null };
    }
    const carried = new Uint8Array(this.#ids.length);
    for (const list of lists) for (const slot of list) carried[slot] = (carried[slot] ?? 0) + 1;
    const accepts = (slot: number) =>
      carried[slot] === lists.length && (alive[slot] ?? false) && inTime(slot);
    return { accepts, few: shortest.length <= this.#ids.length * FEW ? shortest.filter(accepts) : null };
  }

  #rowFilter({ accepts, few }: SlotFilter): RowFilter {
    const rows = few?.flatMap((slot) => {
      const first = this.#firstRow[slot] ?? 0;
      return Array.from({ length: (this.#firstRow[slot + 1] ?? first) - first }, (_, i) => first + i);
    });
    const { owners } = this.#vectors;
    return {
      accepts: rows === undefined ? (row) => accepts(owners[row] ?? 0) : () => true,
      rows: rows === undefined ? null : Int32Array.from(rows),
    };
  }
}

interface SlotFilter {
  accepts(slot: number): boolean;
  /** All slots that are accepted, when they are few. */
  readonly few: readonly number[] | null;
}

function byScore(a: Hit, b: Hit): number {
  return b.score - a.score || a.id - b.id;
}
