/**
 * Both halves in Qdrant, for memory that is too large for one process. A point is a chunk: its dense vector, the
 * entry's words as a sparse vector on the first chunk, and the facts for filters. Writes come from the outbox in the
 * truth, in order. A collection that was lost or is behind is filled again from there.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { QdrantClient } from '@qdrant/js-client-rest';
import { GeodeError, reasonOf } from '../../../base/errors.ts';
import type { Embedder, PartHealth } from '../../../seams/memory.ts';
import { wordCeiling } from '../../truth/fallback-words.ts';
import {
  changesAfter,
  changesIn,
  countChanges,
  indexedEntry,
  lastChange,
} from '../../truth/indexed-entries.ts';
import { type EmbeddingModel, findModel } from '../../truth/models.ts';
import { readPosition, storeId, writePosition } from '../../truth/positions.ts';
import type { Truth } from '../../truth/truth.ts';
import { K1 } from '../bm25.ts';
import type { DenseSearch, Hit, Hits, KeywordSearch, SearchIndex } from '../search-index.ts';
import { ensureCollection } from './collection.ts';
import { pointFilter } from './point-filter.ts';
import { hitOf, pointsOf, queryWords } from './points.ts';

export interface QdrantOptions {
  readonly url: string;
  readonly apiKey?: string;
  /** Prefix of the collections' names: each memory file and model has its own. */
  readonly collection?: string;
  readonly timeoutMs?: number;
  /** How many copies of each shard a cluster keeps. */
  readonly replicas?: number;
}

const DEFAULT_TIMEOUT_MS = 5_000;
const BATCH = 128;
/** How long a search waits for an index that is being filled. */
const FILL_WAIT_MS = 1_000;
/** Factor for reading more each time, while an entry with many near chunks displaces others. */
const FURTHER = 4;
const MOST_POINTS = 10_000;

/** A compressed answer comes in pieces, and the network waits 40 ms between two of them. */
export const PLAIN_ANSWERS = { 'accept-encoding': 'identity' };

export class QdrantIndex implements SearchIndex {
  readonly name = 'qdrant';
  readonly #truth: Truth;
  readonly #client: QdrantClient;
  readonly #options: QdrantOptions;
  readonly #embedder: Embedder;
  #catchingUp: Promise<void> | null = null;
  /** The collection, once it exists and has caught up; null until then and after a failure. */
  #ready: string | null = null;
  #stopped = false;

  constructor(truth: Truth, options: QdrantOptions, embedder: Embedder) {
    this.#truth = truth;
    this.#options = options;
    this.#embedder = embedder;
    this.#client = new QdrantClient({
      url: options.url,
      ...(options.apiKey === undefined ? {} : { apiKey: options.apiKey }),
      timeout: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
      checkCompatibility: false,
      headers: PLAIN_ANSWERS,
    });
  }

  async dense(search: DenseSearch): Promise<Hits> {
    const query = [...search.vector];
    for (let limit = search.depth + 1; ; limit *= FURTHER) {
      const { hits, points } = await this.#query({ query, using: 'meaning', limit }, search);
      if (hits.length > search.depth || points < limit || limit * FURTHER > MOST_POINTS)
        return { hits: hits.slice(0, search.depth), cut: points === limit, ceiling: 1 };
    }
  }

  async keyword(search: KeywordSearch): Promise<Hits> {
    if (search.words.length === 0) return { hits: [], cut: false, ceiling: 1 };
    const query = queryWords(search.words);
    const { hits } = await this.#query({ query, using: 'words', limit: search.depth + 1 }, search);
    const reachable = this.#truth.read((sql) => wordCeiling(sql, search.words, K1));
    // Qdrant counts points, whose number may differ from the number of entries.
    const ceiling = Math.max(reachable, hits[0]?.score ?? 0);
    return { hits: hits.slice(0, search.depth), cut: hits.length > search.depth, ceiling };
  }

  /** One at a time. A caller that arrives during one waits for the next, which includes its write. */
  async catchUp(): Promise<void> {
    const before = this.#catchingUp;
    const next = (async () => {
      await before?.catch(() => undefined);
      await this.#drain();
    })();
    this.#catchingUp = next;
    await next;
  }

  behind(namespace?: string): number {
    const collection = this.#nameFor(this.#model());
    if (collection === null) return 0;
    return this.#truth.read((sql) => {
      const position = readPosition(sql, collection);
      return namespace === undefined
        ? countChanges(sql, position)
        : changesIn(sql, namespace, position).length;
    });
  }

  async health(): Promise<PartHealth> {
    try {
      const { collections } = await this.#client.getCollections();
      const detail = `Qdrant at ${this.#options.url}, ${collections.length} collections`;
      return this.behind() === 0
        ? { name: 'index', state: 'up', detail }
        : { name: 'index', state: 'working', detail: `${detail}, ${this.behind()} changes pending` };
    } catch (thrown) {
      return {
        name: 'index',
        state: 'down',
        detail: `Qdrant at ${this.#options.url} does not answer: ${reasonOf(thrown)}`,
      };
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#catchingUp?.catch(() => undefined);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #query(
    ask: { query: number[] | ReturnType<typeof queryWords>; using: string; limit: number },
    search: DenseSearch | KeywordSearch,
  ): Promise<{ hits: Hit[]; points: number }> {
    const model = this.#model();
    const collection = this.#nameFor(model);
    if (collection === null)
      throw new GeodeError('memory_down', 'Qdrant has no collection before the embedder has answered.');
    await this.#filled(collection);
    const found = await this.#guarded(() =>
      this.#client.query(collection, {
        ...ask,
        filter: pointFilter(search),
        with_payload: ['entry', 'namespace'],
      }),
    );
    const best = new Map<number, Hit>();
    for (const point of found.points) {
      const hit = hitOf(point, search);
      if (hit !== null && !best.has(hit.id)) best.set(hit.id, hit);
    }
    const hits = [...best.values()].sort((a, b) => b.score - a.score || a.id - b.id);
    return { hits, points: found.points.length };
  }

  /** An incomplete index must not answer as if it were complete. */
  async #filled(collection: string): Promise<void> {
    if (this.#ready === collection) return;
    await Promise.race([this.catchUp(), delay(FILL_WAIT_MS, undefined, { ref: false })]);
    if (this.#ready === collection) return;
    throw new GeodeError(
      'memory_down',
      `Qdrant at ${this.#options.url} is being filled from the memory file.`,
    );
  }

  async #drain(): Promise<void> {
    const model = this.#model();
    const collection = this.#nameFor(model);
    if (collection === null || model === null) return;
    if (this.#ready !== collection) {
      const made = await this.#guarded(() =>
        ensureCollection(this.#client, collection, model, this.#options.replicas ?? 1),
      );
      if (made || (await this.#lags(collection)))
        await this.#truth.transaction((sql) => writePosition(sql, collection, 0));
    }
    for (;;) {
      if (this.#stopped) return;
      const changes = this.#truth.read((sql) => changesAfter(sql, readPosition(sql, collection), BATCH));
      const last = changes.at(-1);
      if (last === undefined) {
        this.#ready = collection;
        return;
      }
      await this.#apply(
        collection,
        model,
        changes.map(({ id }) => id),
      );
      await this.#truth.transaction((sql) => writePosition(sql, collection, last.seq));
    }
  }

  async #apply(collection: string, model: EmbeddingModel, ids: readonly number[]): Promise<void> {
    const entries = this.#truth.read((sql) =>
      ids.map((id) => ({ id, entry: indexedEntry(sql, id, model.id) })),
    );
    const points = entries.flatMap(({ entry }) => (entry === null ? [] : pointsOf(entry, model)));
    await this.#guarded(async () => {
      if (points.length > 0) await this.#client.upsert(collection, { points, wait: true });
      // Old points of the entry: all of them, or the chunks beyond its current ones.
      await this.#client.delete(collection, {
        wait: true,
        filter: {
          should: entries.map(({ id, entry }) => ({
            must: [
              { key: 'entry', match: { value: id } },
              { key: 'chunk', range: { gte: entry === null ? 0 : Math.max(1, entry.vectors.length) } },
            ],
          })),
        },
      });
    });
  }

  /** A server restored from an old copy of its files lacks acknowledged entries. */
  async #lags(collection: string): Promise<boolean> {
    const position = this.#truth.read((sql) => readPosition(sql, collection));
    if (position === 0 || position < this.#truth.read(lastChange)) return false;
    const { count } = await this.#guarded(() =>
      this.#client.count(collection, {
        exact: true,
        filter: { must: [{ key: 'chunk', match: { value: 0 } }] },
      }),
    );
    const expected = this.#truth.read((sql) =>
      Number(sql.get`SELECT count(*) AS n FROM entries WHERE superseded_by IS NULL`?.n ?? 0),
    );
    return count !== expected;
  }

  async #guarded<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      // The collection itself may be missing: the next catch-up checks that and fills it again.
      this.#ready = null;
      throw new GeodeError('memory_down', `Qdrant at ${this.#options.url} failed: ${reasonOf(thrown)}.`, {
        cause: thrown,
      });
    }
  }

  #model(): EmbeddingModel | null {
    return this.#truth.read((sql) => findModel(sql, this.#embedder));
  }

  #nameFor(model: EmbeddingModel | null): string | null {
    if (model === null) return null;
    const store = this.#truth.read(storeId).slice(0, 12);
    return `${this.#options.collection ?? 'geode'}-${store}-${model.id}`;
  }
}
