/**
 * Both halves for one namespace, in memory. A changed entry takes a new slot and leaves its old one dead. An index
 * with too many dead slots is reloaded.
 */
import { wordHash } from '../../../base/words.ts';
import type { EmbeddingModel } from '../../truth/models.ts';
import { unpackWords } from '../../truth/word-blob.ts';
import { idf, K1, NEAR_WEIGHT } from '../bm25.ts';
import type { DenseSearch, Hit, Hits, KeywordSearch } from '../search-index.ts';
import { Best } from './best.ts';
import { NumberList } from './number-list.ts';
import { Postings } from './postings.ts';
import { type Allowed, Slots } from './slots.ts';
import { VectorRows, type Wanted } from './vector-rows.ts';
import { WordScores } from './word-scores.ts';

/** An entry as an index stores it. Superseded entries are not in an index. */
export interface IndexedEntry {
  readonly id: number;
  readonly validUntil: number | null;
  /** `category:…`, `tag:…`, `source:…`. */
  readonly labels: readonly string[];
  readonly words: Uint8Array;
  /** The words around it: a second field with a lower weight. */
  readonly near: Uint8Array;
  /** Packed vectors of the index's model, one for each chunk; none while it waits for the embedder. */
  readonly vectors: readonly Uint8Array[];
}

/** Hits to sort with the most precise form of their vectors. */
const REFINED = 64;
const MIN_DEAD = 1_000;

export class NamespaceIndex {
  /** Null until an embedder has answered: there are no vectors before. */
  readonly model: EmbeddingModel | null;
  readonly #slots: Slots;
  readonly #vectors: VectorRows;
  readonly #postings = new Postings();
  readonly #near = new Postings();
  /** Length in words of the text around each slot. */
  readonly #nearLengths: NumberList<Uint32Array>;
  #nearTotal = 0;
  #nearCount = 0;
  readonly #wordScores = new WordScores();
  /** The first vector row of each slot; its rows end where the next slot's start. */
  readonly #firstRow: NumberList<Int32Array>;

  constructor(model: EmbeddingModel | null, capacity: number) {
    this.model = model;
    this.#slots = new Slots(capacity);
    this.#vectors = new VectorRows(model?.centre ?? new Float32Array(), model === null ? 0 : capacity);
    this.#firstRow = new NumberList((length) => new Int32Array(length), capacity + 1);
    this.#firstRow.push(0);
    this.#nearLengths = new NumberList((length) => new Uint32Array(length), capacity);
  }

  get size(): number {
    return this.#slots.alive;
  }

  get bytes(): number {
    const words = [this.#postings, this.#near, this.#nearLengths, this.#wordScores];
    const parts = [this.#slots, this.#vectors, ...words, this.#firstRow];
    return parts.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Half of it is dead. */
  get wasteful(): boolean {
    return this.#slots.count - this.size > Math.max(this.size, MIN_DEAD);
  }

  put(entry: IndexedEntry): void {
    this.remove(entry.id);
    const { hashes, counts } = unpackWords(entry.words);
    let length = 0;
    for (const count of counts) length += count;
    const slot = this.#slots.add(entry.id, length, entry.validUntil, entry.labels);
    for (let i = 0; i < hashes.length; i += 1) this.#postings.add(hashes[i] ?? 0, slot, counts[i] ?? 0);
    this.#putNear(slot, entry.near);
    for (const vector of entry.vectors) this.#vectors.add(slot, vector);
    this.#firstRow.push(this.#vectors.count);
  }

  #putNear(slot: number, words: Uint8Array): void {
    const { hashes, counts } = unpackWords(words);
    let length = 0;
    for (let i = 0; i < hashes.length; i += 1) {
      this.#near.add(hashes[i] ?? 0, slot, counts[i] ?? 0);
      length += counts[i] ?? 0;
    }
    this.#nearLengths.push(length);
    if (length === 0) return;
    this.#nearTotal += length;
    this.#nearCount += 1;
  }

  remove(id: number): void {
    const slot = this.#slots.remove(id);
    if (slot === null) return;
    for (const row of this.#rowsOf([slot])) this.#vectors.remove(row);
  }

  dense(search: DenseSearch): Hits {
    const query = search.vector;
    const found = this.#nearest(search).takeSorted();
    const fine = this.#fineProducts(
      query,
      found.slice(0, REFINED).map(({ row }) => row),
    );
    const common = query.reduce((sum, value, i) => sum + value * (this.model?.centre[i] ?? 0), 0);
    const hits = found
      .slice(0, search.depth)
      .map(({ row, score }, i) => ({ id: this.#slots.idOf(row), score: common + (fine[i] ?? score) }));
    return { hits: hits.sort(byScore), cut: found.length > search.depth, ceiling: 1 };
  }

  keyword(search: KeywordSearch): Hits {
    const scores = this.#wordScores;
    const { lengths, averageLength, count } = this.#slots;
    scores.clear(count);
    let ceiling = 0;
    for (const word of search.words) {
      const posted = this.#postings.posted(wordHash(word));
      const weight = idf(this.size, Math.min(posted.end - posted.start, this.size));
      ceiling += weight * (K1 + 1);
      scores.add(posted, weight, lengths, averageLength);
      if (this.#nearCount > 0) this.#addNear(word);
    }
    const found = scores.best(this.#slots.allowed(search).mask, search.depth + 1).takeSorted();
    const hits = found.slice(0, search.depth).map(({ row, score }) => ({ id: this.#slots.idOf(row), score }));
    return { hits: hits.sort(byScore), cut: found.length > search.depth, ceiling };
  }

  /** The maximum stays that of the entry's own words. */
  #addNear(word: string): void {
    const posted = this.#near.posted(wordHash(word));
    const weight = NEAR_WEIGHT * idf(this.size, Math.min(posted.end - posted.start, this.size));
    this.#wordScores.add(posted, weight, this.#nearLengths.cells, this.#nearTotal / this.#nearCount);
  }

  #nearest(search: DenseSearch): Best {
    const best = new Best(search.depth + 1);
    const wanted = this.#wanted(this.#slots.allowed(search));
    const { count, rows, products } = this.#vectors.search(search.vector, wanted);
    const { owners } = this.#vectors;
    for (let i = 0; i < count; ) {
      const slot = owners[rows[i] ?? 0] ?? 0;
      // The rows of an entry are adjacent; its best chunk counts.
      let product = products[i] ?? 0;
      for (i += 1; i < count && owners[rows[i] ?? 0] === slot; i += 1)
        product = Math.max(product, products[i] ?? 0);
      if (product >= best.bar) best.add(slot, product);
    }
    return best;
  }

  #wanted({ slots, mask, all }: Allowed): Wanted {
    return { rows: slots === null ? null : this.#rowsOf(slots), owners: all ? null : mask };
  }

  /** For each slot the product of the query and its best row. */
  #fineProducts(query: Float32Array, slots: readonly number[]): number[] {
    const rows = this.#rowsOf(slots);
    const products = this.#vectors.fineProducts(query, rows);
    let at = 0;
    return slots.map((slot) => {
      let best = Number.NEGATIVE_INFINITY;
      for (const end = at + this.#rowCount(slot); at < end; at += 1) best = Math.max(best, products[at] ?? 0);
      return best;
    });
  }

  #rowsOf(slots: ArrayLike<number>): Int32Array {
    const { cells: first } = this.#firstRow;
    let total = 0;
    for (let i = 0; i < slots.length; i += 1) total += this.#rowCount(slots[i] ?? 0);
    const rows = new Int32Array(total);
    let at = 0;
    for (let i = 0; i < slots.length; i += 1) {
      const slot = slots[i] ?? 0;
      const end = first[slot + 1] ?? 0;
      for (let row = first[slot] ?? 0; row < end; row += 1) {
        rows[at] = row;
        at += 1;
      }
    }
    return rows;
  }

  #rowCount(slot: number): number {
    return (this.#firstRow.cells[slot + 1] ?? 0) - (this.#firstRow.cells[slot] ?? 0);
  }
}

function byScore(a: Hit, b: Hit): number {
  return b.score - a.score || a.id - b.id;
}
