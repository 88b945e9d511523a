/** The files of this machine that commands work on, with or without a running server. */
import { type KeyStore, openKeys } from '../api/keys.ts';
import { type OpenedMemory, openConfiguredMemory } from '../app.ts';
import { within } from '../core/cancel.ts';
import { isGeodeError } from '../core/errors.ts';
import type { CliContext } from './command.ts';
import { showProgress } from './progress.ts';

export async function openLocalKeys({ loaded }: CliContext): Promise<KeyStore> {
  return openKeys((await loaded()).config.gateway.keys_file);
}

/** To read what is there, without any model. */
export async function openLocalMemory({ loaded }: CliContext): Promise<OpenedMemory> {
  return openConfiguredMemory((await loaded()).config, { indexing: 'on demand' });
}

/**
 * To store and to search. Shows how far the embedding model is, the one time that it is fetched; where it cannot
 * be had, says so and goes on by words.
 */
export async function openSearchableMemory({ loaded, signal, err }: CliContext): Promise<OpenedMemory> {
  const progress = showProgress('Fetching the embedding model, once:');
  const local = await openConfiguredMemory((await loaded()).config, {
    onProgress: ({ receivedBytes, totalBytes }) => progress.update(receivedBytes, totalBytes),
  });
  try {
    await within({ ms: FETCH_TIMEOUT_MS, what: 'Fetching the embedding model', signal }, () =>
      local.prepare(),
    );
    return local;
  } catch (thrown) {
    if (!isGeodeError(thrown, 'model_unavailable')) {
      await local[Symbol.asyncDispose]();
      throw thrown;
    }
    err(`warning: ${thrown.message} Memory works by words until then.`);
    return local;
  } finally {
    progress.end();
  }
}

const FETCH_TIMEOUT_MS = 600_000;

/** Lets what was stored be found by meaning before the process ends; without a model that happens later. */
export async function finishIndexing({ store }: OpenedMemory, { signal }: CliContext): Promise<void> {
  await store.settled({ signal }).catch((thrown) => {
    if (signal.aborted) throw thrown;
  });
}
