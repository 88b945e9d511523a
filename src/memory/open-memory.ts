/** Opens memory: the truth, an index over it, and an embedder. */

import type { Cancel } from '../base/cancel.ts';
import { reasonOf } from '../base/errors.ts';
import { KeyedTurns } from '../base/keyed-turns.ts';
import type {
  Embedder,
  Memory,
  MemoryHealth,
  MemoryStats,
  MemoryStore,
  PartHealth,
  ReindexProgress,
} from '../seams/memory.ts';
import { EmbedQueue } from './embed/embed-queue.ts';
import { EmbeddedIndex } from './index/embedded/embedded-index.ts';
import { QdrantIndex, type QdrantOptions } from './index/qdrant/qdrant-index.ts';
import type { SearchIndex } from './index/search-index.ts';
import { Indexer } from './indexer.ts';
import { type MemoryParts, NamespaceMemory } from './namespace-memory.ts';
import { checkedNamespace } from './prepare.ts';
import { storeId } from './truth/positions.ts';
import { totals } from './truth/read-entries.ts';
import { Truth } from './truth/truth.ts';
import { UseCounter } from './use-counter.ts';

export interface MemoryOptions {
  /** The SQLite file; its folder must exist. */
  readonly file: string;
  /** The caller stops it. */
  readonly embedder: Embedder;
  /** The index for large memory. Without it, this process searches itself. */
  readonly qdrant?: QdrantOptions;
  /** Exact values that must never be stored, in addition to everything shaped like a key. */
  readonly secrets?: (namespace: string) => Iterable<string>;
  /** Maximum bytes of text per namespace that wait for vectors; 256 MB by default. */
  readonly pendingText?: number;
  readonly now?: () => number;
  /** `on demand`: nothing is embedded and no model downloaded until an entry is stored or searched. */
  readonly indexing?: 'background' | 'on demand';
}

/** Throws `memory_down` if the file cannot be used. Does not wait for a slow or unavailable embedder or index. */
export function openMemory(options: MemoryOptions): MemoryStore {
  const truth = new Truth(options.file);
  const queue = new EmbedQueue(options.embedder);
  const index =
    options.qdrant === undefined
      ? new EmbeddedIndex(options.file)
      : new QdrantIndex(truth, options.qdrant, options.embedder);
  const indexer = new Indexer(truth, index, queue);
  // Finish the work that an earlier process left.
  if (options.indexing !== 'on demand') indexer.wake();
  const now = options.now ?? Date.now;
  return new OpenMemory({
    truth,
    queue,
    index,
    indexer,
    uses: new UseCounter(truth, now),
    turns: new KeyedTurns(),
    secrets: options.secrets ?? (() => []),
    pendingText: options.pendingText ?? PENDING_TEXT,
    now,
  });
}

const PENDING_TEXT = 256 * 2 ** 20;

class OpenMemory implements MemoryStore {
  readonly name: SearchIndex['name'];
  readonly #parts: MemoryParts;

  constructor(parts: MemoryParts) {
    this.name = parts.index.name;
    this.#parts = parts;
  }

  in(namespace: string): Memory {
    return new NamespaceMemory(checkedNamespace(namespace), this.#parts);
  }

  async health(): Promise<MemoryHealth> {
    const parts = [this.#truthHealth(), await this.#parts.index.health(), this.#embedderHealth()];
    const down = parts.filter(({ state }) => state === 'down').map(({ name }) => name);
    const halves = down.length === 0 && this.#parts.indexer.state !== 'starting' ? 'up' : 'degraded';
    const state = down.includes('truth') ? 'down' : halves;
    return { state, parts, pending: down.includes('truth') ? 0 : this.#parts.indexer.pending() };
  }

  async stats(): Promise<MemoryStats> {
    const { truth, queue } = this.#parts;
    const { model, dimensions } = queue.embedder;
    return { ...truth.read(totals), bytesOnDisk: truth.bytesOnDisk(), model, dimensions };
  }

  reindex(options: Cancel = {}): AsyncIterable<ReindexProgress> {
    return this.#parts.indexer.reindex(options);
  }

  settled(options: Cancel = {}): Promise<void> {
    return this.#parts.indexer.settled(options);
  }

  async stop(): Promise<void> {
    await this.#parts.indexer.stop();
    await this.#parts.index.stop();
    await this.#parts.uses.flush().catch(() => {
      // Counts are not worth a failed stop.
    });
    this.#parts.truth[Symbol.dispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #truthHealth(): PartHealth {
    try {
      this.#parts.truth.read(storeId);
      const megabytes = (this.#parts.truth.bytesOnDisk() / 1e6).toFixed(1);
      return { name: 'truth', state: 'up', detail: `${this.#parts.truth.file}, ${megabytes} MB` };
    } catch (thrown) {
      return { name: 'truth', state: 'down', detail: reasonOf(thrown) };
    }
  }

  #embedderHealth(): PartHealth {
    const { indexer, queue } = this.#parts;
    const { model, dimensions } = queue.embedder;
    if (indexer.trouble !== null)
      return { name: 'embedder', state: 'down', detail: reasonOf(indexer.trouble) };
    const detail = `${model}, ${dimensions} dimensions`;
    if (indexer.state === 'starting')
      return { name: 'embedder', state: 'working', detail: `${detail}, starting or downloading` };
    return { name: 'embedder', state: indexer.state === 'busy' ? 'working' : 'up', detail };
  }
}
