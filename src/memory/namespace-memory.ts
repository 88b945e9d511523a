/** Memory as everyone but its owner sees it: one namespace. */

import type { Cancel } from '../core/cancel.ts';
import { throwIfCancelled } from '../core/cancel.ts';
import { GeodeError, isGeodeError } from '../core/errors.ts';
import {
  type Answer,
  type Entry,
  type EntryVersion,
  type Filter,
  limits,
  type Memory,
  type NewEntry,
  type Page,
  type Paging,
  type Query,
  type Stored,
} from '../core/memory.ts';
import type { InOrder } from './in-order.ts';
import { checkedFilter, checkedKey, checkedPaging, type PreparedEntry, prepareEntry } from './prepare.ts';
import { checkCategory, type RecallParts, recall } from './recall.ts';
import { countByCategory, listEntries, readEntries, readEntry, readHistory } from './truth/read-entries.ts';
import { type EntryVectors, removeEntry, twinOf, writeEntry } from './truth/write-entry.ts';

export interface MemoryParts extends RecallParts {
  readonly inOrder: InOrder;
  /** Exact values that must never be stored; asked anew for each write. */
  readonly secrets: () => Iterable<string>;
}

export class NamespaceMemory implements Memory {
  readonly namespace: string;
  readonly #parts: MemoryParts;

  constructor(namespace: string, parts: MemoryParts) {
    this.namespace = namespace;
    this.#parts = parts;
  }

  async store(entry: NewEntry, options: Cancel = {}): Promise<Stored> {
    const [stored] = await this.storeMany([entry], options);
    if (stored === undefined) throw new GeodeError('internal', 'Storing one entry gave no answer.');
    return stored;
  }

  async storeMany(entries: readonly NewEntry[], options: Cancel = {}): Promise<readonly Stored[]> {
    throwIfCancelled(options.signal, 'The call');
    if (entries.length > limits.entriesPerStore) {
      throw new GeodeError(
        'too_large',
        `There are ${entries.length} entries in one call; the most is ${limits.entriesPerStore}.`,
      );
    }
    const secrets = [...this.#parts.secrets()];
    const prepared = entries.map((entry) => prepareEntry(entry, secrets));
    return this.#parts.inOrder.run(this.#lanes(prepared), async () => {
      const vectors = await Promise.all(prepared.map((entry) => this.#vectorsOf(entry, options)));
      throwIfCancelled(options.signal, 'The call');
      const written = this.#write(prepared, vectors);
      const indexed = await this.#caughtUp();
      return written.map(({ entry, outcome }, i) => ({
        entry,
        outcome,
        scrubbed: prepared[i]?.scrubbed ?? 0,
        indexed: indexed && (outcome === 'merged' || vectors[i] !== null),
      }));
    });
  }

  recall(query: Query, options: Cancel = {}): Promise<Answer> {
    return recall(this.#parts, this.namespace, query, options);
  }

  async get(key: string): Promise<Entry | null> {
    const { truth, now } = this.#parts;
    return truth.read((sql) => readEntry(sql, this.namespace, checkedKey(key), now()));
  }

  async history(key: string): Promise<readonly EntryVersion[]> {
    return this.#parts.truth.read((sql) => readHistory(sql, this.namespace, checkedKey(key)));
  }

  async list(asked: Filter & Paging = {}): Promise<Page> {
    const { truth, now } = this.#parts;
    const filter = checkedFilter(asked);
    const paging = checkedPaging(asked);
    checkCategory(truth, this.namespace, filter.category);
    return truth.read((sql) => listEntries(sql, { namespace: this.namespace, filter, now: now() }, paging));
  }

  async forget(key: string): Promise<boolean> {
    const checked = checkedKey(key);
    return this.#parts.inOrder.run([this.#lane(checked)], async () => {
      const existed = this.#parts.truth.transaction((sql) => removeEntry(sql, this.namespace, checked));
      if (existed) await this.#caughtUp();
      return existed;
    });
  }

  async count(): Promise<ReadonlyMap<string, number>> {
    return this.#parts.truth.read((sql) => countByCategory(sql, this.namespace));
  }

  #write(prepared: readonly PreparedEntry[], vectors: readonly (EntryVectors | null)[]) {
    const { truth, now } = this.#parts;
    const at = now();
    return truth.transaction((sql) => {
      const written = prepared.map((entry, i) =>
        writeEntry(sql, this.namespace, entry, vectors[i] ?? null, at),
      );
      const stored = readEntries(
        sql,
        this.namespace,
        written.map(({ id }) => id),
        at,
      );
      return written.map(({ id, outcome }) => {
        const entry = stored.get(id);
        if (entry === undefined)
          throw new GeodeError('internal', `The entry ${id} is not there after writing it.`);
        return { entry, outcome };
      });
    });
  }

  /** Null when the embedder is down, or when the entry will be merged into one that has its vectors. */
  async #vectorsOf(entry: PreparedEntry, options: Cancel): Promise<EntryVectors | null> {
    if (entry.key === null && this.#parts.truth.read((sql) => twinOf(sql, this.namespace, entry)) !== null)
      return null;
    try {
      return await this.#parts.indexer.vectorsOf(entry.searchText ?? entry.content, options);
    } catch (thrown) {
      if (isGeodeError(thrown, 'embedder_failed')) return null;
      throw thrown;
    }
  }

  /** False when the index could not be reached; what it missed reaches it later. */
  async #caughtUp(): Promise<boolean> {
    try {
      await this.#parts.index.catchUp();
      return true;
    } catch {
      return false;
    } finally {
      this.#parts.indexer.wake();
    }
  }

  #lanes(entries: readonly PreparedEntry[]): string[] {
    return [
      ...new Set(entries.flatMap(({ key, supersedes }) => [...(key === null ? [] : [key]), ...supersedes])),
    ].map((key) => this.#lane(key));
  }

  #lane(key: string): string {
    return JSON.stringify([this.namespace, key]);
  }
}
