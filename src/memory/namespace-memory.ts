/** Memory as everyone but its owner sees it: one namespace. */

import type { Cancel } from '../core/cancel.ts';
import { throwIfCancelled } from '../core/cancel.ts';
import { GeodeError } from '../core/errors.ts';
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
import { breather } from './breather.ts';
import type { InOrder } from './in-order.ts';
import { checkedFilter, checkedKey, checkedPaging, type PreparedEntry, prepareEntry } from './prepare.ts';
import { checkCategory, type RecallParts, recall } from './recall.ts';
import { countByCategory, listEntries, readEntries, readEntry, readHistory } from './truth/read-entries.ts';
import type { Sql } from './truth/truth.ts';
import { removeEntry, type Written, writeEntry } from './truth/write-entry.ts';

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
    return this.#parts.inOrder.run(this.#lanes(entries), async () => {
      const prepared = await this.#prepare(entries, options);
      const written = await this.#write(prepared, options);
      const reached = await this.#caughtUp();
      return written.map(({ entry, outcome, embedded }, i) => ({
        entry,
        outcome,
        scrubbed: prepared[i]?.scrubbed ?? 0,
        indexed: reached && embedded,
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
      const existed = await this.#parts.truth.transaction((sql) => removeEntry(sql, this.namespace, checked));
      if (existed) await this.#caughtUp();
      return existed;
    });
  }

  async count(): Promise<ReadonlyMap<string, number>> {
    return this.#parts.truth.read((sql) => countByCategory(sql, this.namespace));
  }

  async #prepare(entries: readonly NewEntry[], { signal }: Cancel): Promise<PreparedEntry[]> {
    const secrets = [...this.#parts.secrets()];
    const breathe = breather();
    const prepared: PreparedEntry[] = [];
    for (const entry of entries) {
      throwIfCancelled(signal, 'The call');
      prepared.push(prepareEntry(entry, secrets));
      await breathe();
    }
    return prepared;
  }

  async #write(prepared: readonly PreparedEntry[], { signal }: Cancel): Promise<readonly WrittenEntry[]> {
    const { truth, now } = this.#parts;
    const { namespace } = this;
    const at = now();
    const steps = function* (sql: Sql): Generator<void, readonly WrittenEntry[]> {
      const written: Written[] = [];
      for (const entry of prepared) {
        throwIfCancelled(signal, 'The call');
        written.push(writeEntry(sql, namespace, entry, at));
        yield;
      }
      return withEntries(sql, namespace, written, at);
    };
    if (prepared.length > 1) return truth.longTransaction(steps);
    return truth.transaction((sql) => {
      const written = prepared.map((entry) => writeEntry(sql, namespace, entry, at));
      return withEntries(sql, namespace, written, at);
    });
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

  #lanes(entries: readonly NewEntry[]): string[] {
    return [
      ...new Set(
        entries.flatMap(({ key, supersedes = [] }) => [...(key === undefined ? [] : [key]), ...supersedes]),
      ),
    ].map((key) => this.#lane(key.toWellFormed()));
  }

  #lane(key: string): string {
    return JSON.stringify([this.namespace, key]);
  }
}

interface WrittenEntry extends Omit<Written, 'id'> {
  readonly entry: Entry;
}

function withEntries(sql: Sql, namespace: string, written: readonly Written[], now: number): WrittenEntry[] {
  const ids = written.map(({ id }) => id);
  const entries = readEntries(sql, namespace, ids, now);
  return written.map(({ id, outcome, embedded }) => {
    const entry = entries.get(id);
    if (entry === undefined)
      throw new GeodeError('internal', `The entry ${id} is not there after writing it.`);
    return { entry, outcome, embedded };
  });
}
