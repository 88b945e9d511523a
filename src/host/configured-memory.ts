import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { GeodeError } from '../base/errors.ts';
import { keysOf } from '../config/keys-of.ts';
import type { Config } from '../config/schema.ts';
import { type LocalEmbedderOptions, openLocalEmbedder } from '../memory/embed/local-embedder.ts';
import { openRemoteEmbedder } from '../memory/embed/remote-embedder.ts';
import { type MemoryOptions, openMemory } from '../memory/open-memory.ts';
import type { Embedder, MemoryStore } from '../seams/memory.ts';

export interface OpenedMemory extends AsyncDisposable {
  readonly store: MemoryStore;
  /** Resolves when the embedder can answer. Throws `model_unavailable` if its model cannot be downloaded. */
  prepare(): Promise<void>;
}

export interface OpenMemoryOptions
  extends Pick<LocalEmbedderOptions, 'onProgress'>,
    Pick<MemoryOptions, 'indexing' | 'secrets'> {}

/** Waits for no model: a missing one is downloaded in the background. The caller disposes of the result. */
export async function openConfiguredMemory(
  config: Config,
  { onProgress, indexing = 'background', secrets = () => keysOf(config) }: OpenMemoryOptions = {},
): Promise<OpenedMemory> {
  const { memory, qdrant } = config;
  await mkdir(dirname(memory.file), { recursive: true, mode: 0o700 });
  const embedder = openEmbedder(memory, { ...(onProgress && { onProgress }) });
  const store = openMemory({
    file: memory.file,
    embedder,
    indexing,
    pendingText: memory.pending_text,
    ...(memory.index === 'qdrant' && {
      qdrant: {
        url: qdrant.url,
        ...(qdrant.api_key && { apiKey: qdrant.api_key }),
        ...(qdrant.collection && { collection: qdrant.collection }),
        ...(qdrant.replicas && { replicas: qdrant.replicas }),
      },
    }),
    secrets,
  });
  return {
    store,
    prepare: async () => embedder.prepare?.(),
    async [Symbol.asyncDispose]() {
      await store.stop();
      await embedder.stop();
    },
  };
}

function openEmbedder(memory: Config['memory'], options: Omit<LocalEmbedderOptions, 'folder'>): Embedder {
  if (memory.embedder === 'local') {
    return openLocalEmbedder({
      folder: memory.model_dir,
      ...(memory.model && { model: memory.model }),
      ...options,
    });
  }
  if (memory.model === undefined || memory.dimensions === undefined) {
    throw new GeodeError(
      'invalid_config',
      `memory.embedder is ${memory.embedder}, which needs memory.model and memory.dimensions.`,
    );
  }
  return openRemoteEmbedder({
    provider: memory.embedder,
    model: memory.model,
    dimensions: memory.dimensions,
    ...(memory.base_url && { baseUrl: memory.base_url }),
    ...(memory.api_key && { apiKey: memory.api_key }),
  });
}
