/** The files of this machine that commands work on, with or without a running server. */
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type KeyStore, openKeys } from '../api/keys.ts';
import { type OpenedMemory, openConfiguredMemory } from '../app.ts';
import type { CliContext } from './command.ts';
import { showProgress } from './progress.ts';

export async function openLocalKeys({ loaded }: CliContext): Promise<KeyStore> {
  const { keys_file } = (await loaded()).config.gateway;
  await mkdir(dirname(keys_file), { recursive: true, mode: 0o700 });
  return openKeys(keys_file);
}

/** Shows how far the embedding model is, the one time that it is fetched. */
export async function openLocalMemory({ loaded, signal }: CliContext): Promise<OpenedMemory> {
  const progress = showProgress('Fetching the embedding model, once:');
  try {
    return await openConfiguredMemory((await loaded()).config, {
      onProgress: ({ receivedBytes, totalBytes }) => progress.update(receivedBytes, totalBytes),
      signal,
    });
  } finally {
    progress.end();
  }
}
