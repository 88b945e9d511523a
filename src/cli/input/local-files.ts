/** The files of this machine that commands work on, with or without a running server. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ApiKey, type KeyStore, openKeys } from '../../api/keys.ts';
import { within } from '../../base/cancel.ts';
import { isGeodeError } from '../../base/errors.ts';
import { type OpenedMemory, openConfiguredMemory } from '../../host/geode.ts';
import type { CliContext } from '../command.ts';
import { showProgress } from '../render/progress.ts';

export async function openLocalKeys({ loaded }: CliContext): Promise<KeyStore> {
  return openKeys((await loaded()).config.gateway.keys_file);
}

/** The existing keys; does not create the file. */
export async function localKeys(context: CliContext): Promise<readonly ApiKey[]> {
  if (!existsSync((await context.loaded()).config.gateway.keys_file)) return [];
  using keys = await openLocalKeys(context);
  return keys.list();
}

/** To read what is there, without any model. Where there is no memory yet, an empty one is read and none is made. */
export async function openLocalMemory({ loaded }: CliContext): Promise<OpenedMemory> {
  const { config } = await loaded();
  if (existsSync(config.memory.file)) return openConfiguredMemory(config, { indexing: 'on demand' });
  const folder = await mkdtemp(join(tmpdir(), 'geode-empty-'));
  const memory = { ...config.memory, file: join(folder, 'memory.db'), index: 'embedded' as const };
  const empty = await openConfiguredMemory({ ...config, memory }, { indexing: 'on demand' });
  return {
    ...empty,
    async [Symbol.asyncDispose]() {
      await empty[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * To store and to search. Shows how far the embedding model is, the one time that it is fetched; where it cannot
 * be had, says so and goes on by words.
 */
export async function openSearchableMemory({ loaded, app, signal, err }: CliContext): Promise<OpenedMemory> {
  const progress = showProgress('Fetching the embedding model, once:');
  const { egress } = await app();
  const local = await openConfiguredMemory((await loaded()).config, {
    secrets: egress.secretValues,
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
    err(`warning: ${thrown.message} Until then, memory searches by words only.`);
    return local;
  } finally {
    progress.end();
  }
}

const FETCH_TIMEOUT_MS = 600_000;

/** To search only: an empty memory needs no model. */
export async function openMemoryToSearch(context: CliContext): Promise<OpenedMemory> {
  const { config } = await context.loaded();
  return existsSync(config.memory.file) ? openSearchableMemory(context) : openLocalMemory(context);
}

/** Lets what was stored be found by meaning before the process ends; without a model that happens later. */
export async function finishIndexing({ store }: OpenedMemory, { signal }: CliContext): Promise<void> {
  await store.settled({ signal }).catch((thrown) => {
    if (signal.aborted) throw thrown;
  });
}
