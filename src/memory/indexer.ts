/**
 * What happens behind the writes: entries that wait for the embedder get their vectors, and the index gets
 * what it missed. It works while there is something to do, tries again while a part is down, and can stop at
 * any moment, because what remains to be done is read from the truth.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Cancel } from '../core/cancel.ts';
import { throwIfCancelled } from '../core/cancel.ts';
import type { ReindexProgress } from '../core/memory.ts';
import type { EmbedQueue } from './embed/embed-queue.ts';
import type { SearchIndex } from './index/search-index.ts';
import { chunks } from './text/chunks.ts';
import { findModel, type Model, registerModel } from './truth/models.ts';
import { countPending, entriesAfter, fillVectors, pendingEntries, type Unembedded } from './truth/pending.ts';
import type { Truth } from './truth/truth.ts';
import { packVector } from './truth/vector-blob.ts';
import type { EntryVectors } from './truth/write-entry.ts';

const BATCH = 16;
const SETTLE_POLL_MS = 50;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 30_000;

export class Indexer {
  readonly #truth: Truth;
  readonly #index: SearchIndex;
  readonly #queue: EmbedQueue;
  readonly #stopping = new AbortController();
  #model: Model | null;
  #running: Promise<void> | null = null;
  #busy = false;
  #trouble: unknown = null;

  constructor(truth: Truth, index: SearchIndex, queue: EmbedQueue) {
    this.#truth = truth;
    this.#index = index;
    this.#queue = queue;
    this.#model = truth.read((sql) => findModel(sql, queue.embedder));
  }

  /** Null until the embedder has answered once. */
  get model(): Model | null {
    return this.#model;
  }

  /** Entries wait for their vectors or for the index. */
  get busy(): boolean {
    return this.#busy;
  }

  /** Why the work does not get on; null while it does. */
  get trouble(): unknown {
    return this.#trouble;
  }

  pending(): number {
    return this.#truth.read((sql) => countPending(sql, this.#model?.id ?? null)) + this.#index.behind();
  }

  /** The vectors of a text, a packed one for each chunk. */
  async vectorsOf(text: string, options: Cancel = {}): Promise<EntryVectors> {
    const model = await this.#registered();
    const vectors = await this.#queue.embed(chunks(text, this.#queue.embedder.chunkLength), 'entry', options);
    return { model: model.id, chunks: vectors.map((vector) => packVector(vector, model.centre)) };
  }

  /** Starts working if there is work and it is not under way. */
  wake(): void {
    this.#running ??= this.#work().finally(() => {
      this.#running = null;
    });
  }

  async *reindex({ signal }: Cancel = {}): AsyncGenerator<ReindexProgress> {
    const total = this.#truth.read((sql) => Number(sql.get`SELECT count(*) AS n FROM entries`?.n ?? 0));
    let done = 0;
    let last = 0;
    yield { done, total };
    for (;;) {
      throwIfCancelled(signal, 'The call');
      const batch = this.#truth.read((sql) => entriesAfter(sql, last, BATCH));
      if (batch.length === 0) return;
      await this.#embed(batch);
      await this.#index.catchUp();
      last = batch.at(-1)?.id ?? last;
      done += batch.length;
      yield { done, total: Math.max(total, done) };
    }
  }

  async settled({ signal }: Cancel = {}): Promise<void> {
    while (this.pending() > 0) {
      throwIfCancelled(signal, 'The call');
      this.wake();
      await Promise.race([this.#running, delay(SETTLE_POLL_MS)]);
      if (this.#trouble !== null) throw this.#trouble;
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #work(): Promise<void> {
    let retryMs = FIRST_RETRY_MS;
    while (!this.#stopping.signal.aborted) {
      try {
        await this.#registered();
        await this.#index.catchUp();
        const more = await this.#embedPending();
        this.#trouble = null;
        retryMs = FIRST_RETRY_MS;
        if (!more && this.#index.behind() === 0) return;
      } catch (thrown) {
        if (this.#stopping.signal.aborted) return;
        this.#trouble = thrown;
        this.#busy = true;
        await delay(retryMs, undefined, { signal: this.#stopping.signal, ref: false }).catch(() => undefined);
        retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
      }
    }
  }

  /** True when it found something to do. */
  async #embedPending(): Promise<boolean> {
    const model = await this.#registered();
    const batch = this.#truth.read((sql) => pendingEntries(sql, model.id, BATCH));
    this.#busy = batch.length > 0;
    await this.#embed(batch);
    return batch.length > 0;
  }

  async #embed(batch: readonly Unembedded[]): Promise<void> {
    const vectors = await Promise.all(batch.map(({ text }) => this.vectorsOf(text)));
    if (this.#stopping.signal.aborted || batch.length === 0) return;
    this.#truth.transaction((sql) => {
      for (const [i, entry] of batch.entries()) {
        const own = vectors[i];
        if (own !== undefined) fillVectors(sql, entry, own);
      }
    });
  }

  async #registered(): Promise<Model> {
    this.#model ??= await registerModel(this.#truth, this.#queue.embedder);
    return this.#model;
  }
}
