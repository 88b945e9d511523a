/** Memory with the real model, in a folder that outlives the run: embedding a corpus takes minutes. */
import { mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Embedder, MemoryStore } from '../../src/core/memory.ts';
import { modelFolder } from '../../src/memory/embed/fetch-model.ts';
import { openLocalEmbedder } from '../../src/memory/embed/local-embedder.ts';
import { openMemory } from '../../src/memory/open-memory.ts';

export interface BenchMemory extends AsyncDisposable {
  readonly store: MemoryStore;
  readonly embedder: Embedder;
}

export async function openModel(): Promise<Embedder> {
  const embedder = openLocalEmbedder({
    folder: modelFolder(process.env, homedir()),
    onProgress: ({ receivedBytes, source }) => {
      process.stderr.write(`\rfetching the model from ${source}: ${(receivedBytes / 1e6).toFixed(0)} MB`);
    },
  });
  await embedder.prepare?.();
  return embedder;
}

export async function openBenchMemory(name: string): Promise<BenchMemory> {
  const embedder = await openModel();
  const folder = join(modelFolder(process.env, homedir()), '..', 'bench');
  mkdirSync(folder, { recursive: true });
  const store = openMemory({
    file: join(folder, `${name}-${embedder.model.replaceAll('/', '-')}.db`),
    embedder,
  });
  return {
    store,
    embedder,
    async [Symbol.asyncDispose]() {
      await store.stop();
      await embedder.stop();
    },
  };
}
