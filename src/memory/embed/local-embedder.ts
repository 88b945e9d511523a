/** Embeds on this machine, in its own thread. Needs no network after the model was downloaded once. */

import { availableParallelism } from 'node:os';
import type { Cancel } from '../../base/cancel.ts';
import { throwIfCancelled } from '../../base/cancel.ts';
import { GeodeError, reasonOf } from '../../base/errors.ts';
import type { Embedder } from '../../seams/memory.ts';
import { WorkerCalls } from '../worker-calls.ts';
import { cachedModel, type FetchOptions, fetchModel, type ModelFiles } from './fetch-model.ts';
import { cachedLibrary, fetchLibrary } from './inference-library.ts';
import { type LocalModel, localModels } from './local-models.ts';
import type { EmbedCalls, EmbedWorkerInput } from './local-worker.ts';

export interface LocalEmbedderOptions extends Omit<FetchOptions, 'signal'> {
  /** `gte-small` by default. */
  readonly model?: string;
  /** Default: all cores, at most four. A window takes milliseconds; then the cores are free again. */
  readonly threads?: number;
}

/** About the tokens of one window of English text; the rest of a chunk goes into a second window. */
const CHUNK_LENGTH = 2_000;
const MOST_THREADS = 4;
/** How long failed sources are not tried again, because a download may be a hundred megabytes. */
const FETCH_AGAIN_MS = 60_000;

/** Does nothing until it is used: then it looks for the model, and downloads a missing one. */
export function openLocalEmbedder(options: LocalEmbedderOptions): Embedder {
  return new LocalEmbedder(namedModel(options.model ?? localModels[0].name), options);
}

function namedModel(name: string): LocalModel {
  const model = localModels.find((known) => known.name === name);
  if (model !== undefined) return model;
  const names = localModels.map((known) => known.name).join(', ');
  throw new GeodeError(
    'invalid_config',
    `There is no local model ${JSON.stringify(name)}. Available: ${names}.`,
  );
}

class LocalEmbedder implements Embedder {
  readonly model: string;
  readonly dimensions: number;
  readonly chunkLength = CHUNK_LENGTH;
  /** The texts of a call are computed one by one, so larger calls would save nothing. */
  readonly batchLength = CHUNK_LENGTH;
  readonly #pinned: LocalModel;
  readonly #options: LocalEmbedderOptions;
  readonly #stopping = new AbortController();
  #worker: WorkerCalls<EmbedCalls> | null = null;
  #preparing: Promise<void> | null = null;
  #failed: { readonly at: number; readonly reason: unknown } | null = null;

  constructor(pinned: LocalModel, options: LocalEmbedderOptions) {
    this.#pinned = pinned;
    this.#options = options;
    this.model = `local/${pinned.name}@${(pinned.quantisedSha256 ?? pinned.weights.sha256).slice(0, 8)}`;
    this.dimensions = pinned.dimensions;
  }

  async embed(
    texts: readonly string[],
    purpose: 'query' | 'entry',
    { signal }: Cancel = {},
  ): Promise<readonly Float32Array[]> {
    throwIfCancelled(signal, 'The call');
    try {
      if (purpose === 'entry') await this.prepare();
      else await this.#look();
      if (this.#worker === null) throw new Error('it is still being downloaded');
      return await this.#worker.call('embed', { texts, purpose });
    } catch (thrown) {
      throw new GeodeError(
        'embedder_failed',
        `The local model ${this.#pinned.name} does not answer: ${reasonOf(thrown)}`,
        { cause: thrown },
      );
    }
  }

  async prepare(): Promise<void> {
    if (this.#worker !== null) return;
    this.#preparing ??= this.#prepare().finally(() => {
      this.#preparing = null;
    });
    await this.#preparing;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#preparing?.catch(() => undefined);
    await this.#worker?.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #prepare(): Promise<void> {
    await this.#look();
    if (this.#worker !== null) return;
    if (this.#failed !== null && Date.now() - this.#failed.at < FETCH_AGAIN_MS) throw this.#failed.reason;
    try {
      const options = { ...this.#options, signal: this.#stopping.signal };
      const library = await fetchLibrary({ ...options, onProgress: this.#libraryProgress() });
      this.#start(await fetchModel(this.#pinned, options), library);
    } catch (thrown) {
      this.#failed = { at: Date.now(), reason: thrown };
      throw thrown;
    }
  }

  /** Uses an existing model, even one that a person put there. */
  async #look(): Promise<void> {
    if (this.#worker !== null) return;
    const files = await cachedModel(this.#pinned, this.#options.folder);
    const library = files === null ? null : await cachedLibrary({ folder: this.#options.folder });
    if (files !== null && library !== null) this.#start(files, library);
  }

  #libraryProgress() {
    const { onProgress } = this.#options;
    return (receivedBytes: number, totalBytes: number | null) =>
      onProgress?.({ model: 'ONNX Runtime', source: 'npm onnxruntime-node', receivedBytes, totalBytes });
  }

  #start(files: ModelFiles, library: string): void {
    if (this.#stopping.signal.aborted) throw new GeodeError('memory_down', 'The embedder has been stopped.');
    // ONNX Runtime sends telemetry unless the environment forbids it at load time.
    process.env.ORT_DISABLE_TELEMETRY = '1';
    const { dimensions, maxTokens } = this.#pinned;
    const input: EmbedWorkerInput = {
      files,
      library,
      dimensions,
      maxTokens,
      threads: this.#options.threads ?? defaultThreads(),
    };
    this.#worker ??= new WorkerCalls(new URL('./local-worker.ts', import.meta.url), input, 'finish');
  }
}

function defaultThreads(): number {
  return Math.min(MOST_THREADS, availableParallelism());
}
