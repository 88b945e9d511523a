/** The files of this machine that commands work on, with or without a running server. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type KeyStore, openKeys } from '../api/keys.ts';
import type { MemoryStore } from '../core/memory.ts';
import { openLocalEmbedder } from '../memory/embed/local-embedder.ts';
import { openMemory } from '../memory/open-memory.ts';
import type { CliContext } from './command.ts';
import { showProgress } from './progress.ts';

export function openLocalKeys({ config }: CliContext): KeyStore {
  return openKeys(join(config.dataDir, 'keys.db'));
}

export interface LocalMemory extends AsyncDisposable {
  readonly store: MemoryStore;
}

/** Fetches the embedding model when it is not there yet, and shows how far it is. */
export async function openLocalMemory({ config, signal }: CliContext): Promise<LocalMemory> {
  await mkdir(config.dataDir, { recursive: true, mode: 0o700 });
  const progress = showProgress('Fetching the embedding model, once:');
  const embedder = await openLocalEmbedder({
    folder: config.modelFolder,
    onProgress: ({ receivedBytes, totalBytes }) => progress.update(receivedBytes, totalBytes),
    signal,
  });
  progress.end();
  const store = openMemory({ file: join(config.dataDir, 'memory.db'), embedder });
  return {
    store,
    async [Symbol.asyncDispose]() {
      await store.stop();
      await embedder.stop();
    },
  };
}
