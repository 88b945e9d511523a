/** Memory for everyone except its owner: one namespace. */

import type { Cancel } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import type { KeyedTurns } from '../base/keyed-turns.ts';
import {
  type Answer,
  type Audit,
  type Entry,
  type EntryVersion,
  type Filter,
  type KeptEntry,
  type Memory,
  memoryLimits,
  type NewEntry,
  type Page,
  type Paging,
  type Query,
  type Stored,
  type UseOutcome,
} from '../seams/memory.ts';
import { audit } from './audit/audit.ts';
import { checkedFilter, checkedKey, checkedPaging } from './prepare.ts';
import { checkCategory, type RecallParts, recall } from './recall.ts';
import { caughtUp, lanes, restoring, storeAll, storing } from './store-all.ts';
import { keptEntries } from './truth/kept-entries.ts';
import { countByCategory, listEntries, readEntry, readHistory } from './truth/read-entries.ts';
import { addOutcome } from './truth/uses.ts';
import { removeEntry } from './truth/write-entry.ts';

export interface MemoryParts extends RecallParts {
  /** Prefix of the keys of all namespaces. */
  readonly turns: KeyedTurns;
  /** Exact values that must never be stored; read again for each write. */
  readonly secrets: (namespace: string) => Iterable<string>;
  /** Maximum bytes of text per namespace that wait for vectors. */
  readonly pendingText: number;
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

  storeMany(entries: readonly NewEntry[], options: Cancel = {}): Promise<readonly Stored[]> {
    return storeAll(this.#parts, this.namespace, entries.map(storing), options);
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

  async *export(asked: Filter = {}): AsyncGenerator<KeptEntry> {
    const { truth, now } = this.#parts;
    const filter = checkedFilter(asked);
    checkCategory(truth, this.namespace, filter.category);
    const search = { namespace: this.namespace, filter, now: now() };
    const next = (after: number) =>
      truth.read((sql) => keptEntries(sql, search, after, memoryLimits.resultsPerPage));
    let page = next(0);
    yield* page.entries;
    while (page.after !== null) {
      page = next(page.after);
      yield* page.entries;
    }
  }

  restore(entries: readonly KeptEntry[], options: Cancel = {}): Promise<readonly Stored[]> {
    return storeAll(this.#parts, this.namespace, entries.map(restoring), options);
  }

  async forget(key: string): Promise<boolean> {
    const checked = checkedKey(key);
    return this.#parts.turns.in(lanes(this.namespace, [checked]), async () => {
      const existed = await this.#parts.truth.transaction((sql) => removeEntry(sql, this.namespace, checked));
      if (existed) await caughtUp(this.#parts);
      return existed;
    });
  }

  async count(): Promise<ReadonlyMap<string, number>> {
    return this.#parts.truth.read((sql) => countByCategory(sql, this.namespace));
  }
  noteOutcome(keys: readonly string[], outcome: UseOutcome): Promise<void> {
    return this.#parts.truth.transaction((sql) => addOutcome(sql, this.namespace, keys, outcome));
  }

  audit(options: Cancel = {}): Promise<Audit> {
    return audit(this.#parts, this.namespace, options);
  }
}
