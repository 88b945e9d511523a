/** Embeds on this machine, in a thread of its own. After the model has been fetched once, it needs no network. */

import type { Cancel } from '../../core/cancel.ts';
import { throwIfCancelled } from '../../core/cancel.ts';
import { GeodeError, reasonOf } from '../../core/errors.ts';
import type { Embedder } from '../../core/memory.ts';
import { WorkerCalls } from '../worker-calls.ts';
import { type FetchOptions, fetchModel } from './fetch-model.ts';
import { localModels } from './local-models.ts';
import type { EmbedCalls, EmbedWorkerInput } from './local-worker.ts';

export interface LocalEmbedderOptions extends FetchOptions {
  /** `gte-small` by default. */
  readonly model?: string;
  /** More than the cores that are free makes it slower; 2 by default. */
  readonly threads?: number;
}

/** About the tokens that fit into one window of English; the rest of a chunk goes into a second one. */
const CHUNK_LENGTH = 2_000;
const DEFAULT_THREADS = 2;

/** Fetches the model when it is not there yet; throws `model_unavailable` when no source has it. */
export async function openLocalEmbedder(options: LocalEmbedderOptions): Promise<Embedder> {
  const name = options.model ?? localModels[0].name;
  const model = localModels.find((known) => known.name === name);
  if (model === undefined) {
    const names = localModels.map((known) => known.name).join(', ');
    throw new GeodeError(
      'invalid_config',
      `There is no local model ${JSON.stringify(name)}; there are ${names}.`,
    );
  }
  const files = await fetchModel(model, options);
  const { dimensions, maxTokens } = model;
  const input: EmbedWorkerInput = {
    files,
    dimensions,
    maxTokens,
    threads: options.threads ?? DEFAULT_THREADS,
  };
  const worker = new WorkerCalls<EmbedCalls>(new URL('./local-worker.ts', import.meta.url), input);
  return {
    model: `local/${name}@${(model.quantisedSha256 ?? model.weights.sha256).slice(0, 8)}`,
    dimensions,
    chunkLength: CHUNK_LENGTH,
    // One long text at a time: memory and the wait of a query behind it stay small.
    batchLength: CHUNK_LENGTH,
    async embed(texts, _purpose, { signal }: Cancel = {}) {
      throwIfCancelled(signal, 'The call');
      try {
        return await worker.call('embed', texts);
      } catch (thrown) {
        throw new GeodeError('embedder_failed', `The local model ${name} failed: ${reasonOf(thrown)}.`, {
          cause: thrown,
        });
      }
    },
    stop: () => worker.stop(),
    [Symbol.asyncDispose]: () => worker.stop(),
  };
}
