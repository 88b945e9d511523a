/** Memory in this process, for commands that find no running host. */
import type { OpenedMemory } from '../../host/configured-memory.ts';
import type { CliContext } from '../command.ts';
import { showProgress } from '../render/progress.ts';

export async function openLocalMemory({ loaded }: CliContext): Promise<OpenedMemory> {
  const { memoryToRead } = await import('../../host/memory-alone.ts');
  return memoryToRead((await loaded()).config);
}

/** For storing and searching; shows the progress of the embedding model while it is fetched. */
export async function openSearchableMemory(context: CliContext): Promise<OpenedMemory> {
  return opening(context, 'memoryToStore');
}

/** For searching only. */
export async function openMemoryToSearch(context: CliContext): Promise<OpenedMemory> {
  return opening(context, 'memoryToSearch');
}

async function opening(
  { loaded, geode, signal, err }: CliContext,
  how: 'memoryToStore' | 'memoryToSearch',
): Promise<OpenedMemory> {
  const alone = await import('../../host/memory-alone.ts');
  const progress = showProgress('Fetching the embedding model, once:');
  const { config } = await loaded();
  try {
    return await alone[how]({
      ...{ config, geode, signal },
      warn: (message) => err(`warning: ${message}`),
      onProgress: ({ receivedBytes, totalBytes }) => progress.update(receivedBytes, totalBytes),
    });
  } finally {
    progress.end();
  }
}

/** Waits until the stored entries can be found by meaning; without a model that happens later. */
export async function finishIndexing({ store }: OpenedMemory, { signal }: CliContext): Promise<void> {
  await store.settled({ signal }).catch((thrown) => {
    if (signal.aborted) throw thrown;
  });
}
