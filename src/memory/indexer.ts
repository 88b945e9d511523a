/**
 * The background work after writes: entries get their vectors, and the index gets missing changes. It runs while
 * there is something to do, retries while a part is down, and can stop at any moment, because the remaining work is
 * read from the truth.
 *
 * Namespaces take turns: each waiting one has a lane, and the embedder's queue alternates between lanes text by text.
 * A user who stores a library does not delay one who stores a sentence.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { Cancel } from '../base/cancel.ts';
import { throwIfCancelled, unlessStopped } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import type { ReindexProgress } from '../seams/memory.ts';
import type { EmbedQueue } from './embed/embed-queue.ts';
import type { SearchIndex } from './index/search-index.ts';
import { chunks } from './text/chunks.ts';
import { type EmbeddingModel, findModel, registerModel } from './truth/models.ts';
import {
  countPending,
  countWaiting,
  entriesAfter,
  fillVectors,
  hasOtherModels,
  namespacesWaiting,
  otherModels,
  pendingEntries,
  type Unembedded,
} from './truth/pending.ts';
import type { Truth } from './truth/truth.ts';
import { packVector } from './truth/vector-blob.ts';
import type { EntryVectors } from './truth/write-entry.ts';

const BATCH = 16;
/** Maximum namespaces embedded at the same time; others follow. */
const LANES = 16;
const SETTLE_POLL_MS = 50;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 30_000;
/** How long a search waits for vectors of entries stored just before it. */
const MOMENT_MS = 50;
/** How long a search waits for an embedder that is starting. */
const START_MS = 1_000;
/** The lane of entries that move to another model; no namespace has this name. */
const MOVING = '';

export class Indexer {
  readonly #truth: Truth;
  readonly #index: SearchIndex;
  readonly #queue: EmbedQueue;
  readonly #stopping = new AbortController();
  #model: EmbeddingModel | null;
  #prepared: boolean;
  #running: Promise<void> | null = null;
  #round = Promise.withResolvers<void>();
  #busy = false;
  /** Batches in progress by namespace; each resolves to its failure, or null. */
  readonly #lanes = new Map<string, Promise<unknown>>();
  #lastLane = '';
  #stored = Promise.withResolvers<void>();
  /** Whether the store moves from one model to another. */
  #moving = false;
  #trouble: unknown = null;

  constructor(truth: Truth, index: SearchIndex, queue: EmbedQueue) {
    this.#truth = truth;
    this.#index = index;
    this.#queue = queue;
    this.#model = truth.read((sql) => findModel(sql, queue.embedder));
    this.#prepared = queue.embedder.prepare === undefined;
    this.#noteMove();
  }

  /** Null until the embedder has answered once. */
  get model(): EmbeddingModel | null {
    return this.#model;
  }

  /** `starting` while the embedder fetches what it needs, such as its model. */
  get state(): 'starting' | 'busy' | 'idle' {
    if (!this.#prepared && this.#running !== null) return 'starting';
    return this.#busy ? 'busy' : 'idle';
  }

  /** Why the work is blocked; null if it is not. */
  get trouble(): unknown {
    return this.#trouble;
  }

  pending(): number {
    return this.#truth.read((sql) => countPending(sql, this.#model?.id ?? null)) + this.#index.behind();
  }

  /** Starts working if there is work and none is in progress. */
  wake(): void {
    this.#running ??= this.#work().finally(() => {
      this.#running = null;
    });
  }

  /** Called after storing: a namespace that waits now is not delayed by the batches of others. */
  noteStored(): void {
    this.#stored.resolve();
    this.wake();
  }

  /** The model, once the embedder has answered; null if that takes longer than a search should wait. */
  async modelSoon(): Promise<EmbeddingModel | null> {
    await this.#until(() => this.#model !== null, START_MS);
    return this.#model;
  }

  /** True if everything in the namespace has its vectors. Waits a moment for a few, but not for many. */
  async vectorsSoon(namespace: string): Promise<boolean> {
    const missing = () =>
      this.#truth.read((sql) => countWaiting(sql, namespace, BATCH + 1)) + this.#index.behind(namespace);
    const count = missing();
    if (count === 0) return !this.#moving;
    if (count <= BATCH) await this.#until(() => missing() === 0, MOMENT_MS);
    else this.wake();
    return missing() === 0 && !this.#moving;
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
    await Promise.all(this.#lanes.values());
  }

  /** Works until that is true, time is up, or a part is down. */
  async #until(done: () => boolean, timeoutMs: number): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    while (!done() && performance.now() < deadline && this.#trouble === null) {
      this.wake();
      await Promise.race([
        this.#round.promise,
        delay(deadline - performance.now(), undefined, { ref: false }),
      ]);
    }
  }

  async #work(): Promise<void> {
    let retryMs = FIRST_RETRY_MS;
    while (!this.#stopping.signal.aborted) {
      try {
        const more = await this.#embedPending().finally(() => this.#index.catchUp());
        this.#trouble = null;
        retryMs = FIRST_RETRY_MS;
        this.#endRound();
        if (!more && this.#index.behind() === 0) return;
      } catch (thrown) {
        if (this.#stopping.signal.aborted) return;
        this.#trouble = thrown;
        this.#busy = true;
        this.#endRound();
        await delay(retryMs, undefined, { signal: this.#stopping.signal, ref: false }).catch(() => undefined);
        retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
      }
    }
  }

  #endRound(): void {
    this.#round.resolve();
    this.#round = Promise.withResolvers();
  }

  /** Works until one of the batches has ended or something was stored. Returns true if there was work. */
  async #embedPending(): Promise<boolean> {
    const model = await this.#registered();
    this.#stored = Promise.withResolvers();
    this.#openLanes(model);
    this.#busy = this.#lanes.size > 0;
    if (!this.#busy) {
      this.#moving = false;
      return false;
    }
    const failure = await Promise.race([...this.#lanes.values(), this.#stored.promise.then(() => null)]);
    if (failure !== null) throw failure;
    return true;
  }

  /** A batch for each waiting namespace without one in progress; entries of other models if no namespace waits. */
  #openLanes(model: EmbeddingModel): void {
    const free = LANES - this.#lanes.size;
    const waiting = this.#truth.read((sql) => namespacesWaiting(sql, this.#lastLane, LANES * 2));
    for (const namespace of waiting.filter((name) => !this.#lanes.has(name)).slice(0, free)) {
      this.#lastLane = namespace;
      this.#openLane(
        namespace,
        this.#truth.read((sql) => pendingEntries(sql, namespace, BATCH)),
      );
    }
    if (this.#lanes.size > 0) return;
    const moving = this.#truth.read((sql) => otherModels(sql, model.id, BATCH));
    if (moving.length > 0) this.#openLane(MOVING, moving);
  }

  #openLane(name: string, batch: readonly Unembedded[]): void {
    const lane = this.#embed(batch)
      .then(
        () => null,
        (thrown: unknown) => thrown ?? new Error('embedding failed'),
      )
      .finally(() => this.#lanes.delete(name));
    this.#lanes.set(name, lane);
  }

  async #embed(batch: readonly Unembedded[]): Promise<void> {
    const model = await this.#registered();
    const vectors = await this.#unlessStopped(() =>
      Promise.all(batch.map((entry) => this.#vectorsOf(entry, model))),
    );
    if (batch.length === 0) return;
    await this.#truth.transaction((sql) => {
      for (const [i, entry] of batch.entries()) {
        const own = vectors[i];
        if (own !== undefined) fillVectors(sql, entry, own);
      }
    });
  }

  /** The vectors of an entry, a packed one for each chunk. */
  async #vectorsOf({ text, before, namespace }: Unembedded, model: EmbeddingModel): Promise<EntryVectors> {
    const pieces = chunks(text, this.#queue.embedder.chunkLength);
    // The first chunk is embedded once alone and once after the text before it; its vector is the mean of the two.
    const joined = before === null ? [] : [`${before}\n${pieces[0] ?? ''}`];
    const made = await this.#queue.embed([...pieces, ...joined], 'entry', { owner: namespace });
    const [first, around] = [made[0], made[pieces.length]];
    const vectors = made.slice(0, pieces.length);
    if (first !== undefined && around !== undefined) vectors[0] = between(first, around);
    return { model: model.id, chunks: vectors.map((vector) => packVector(vector, model.centre)) };
  }

  async #registered(): Promise<EmbeddingModel> {
    if (this.#model !== null && this.#prepared) return this.#model;
    const { embedder } = this.#queue;
    this.#model = await this.#unlessStopped(async () => {
      await embedder.prepare?.();
      return registerModel(this.#truth, embedder);
    });
    this.#prepared = true;
    this.#noteMove();
    return this.#model;
  }

  /** Work may take minutes; a stop does not wait for it. */
  async #unlessStopped<T>(work: () => Promise<T>): Promise<T> {
    const done = await unlessStopped(work, this.#stopping.signal);
    if (done === 'stopped') throw new GeodeError('memory_down', 'Memory has been stopped.');
    return done.value;
  }

  #noteMove(): void {
    const model = this.#model;
    this.#moving = model !== null && this.#truth.read((sql) => hasOtherModels(sql, model.id));
  }
}

/** The mean of two unit vectors, scaled to length 1. */
function between(a: Float32Array, b: Float32Array): Float32Array {
  const sum = a.map((value, i) => value + (b[i] ?? 0));
  const length = Math.hypot(...sum) || 1;
  return sum.map((value) => value / length);
}
