/** Memory without a host, from its files, which several processes may open at once. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { within } from '../base/cancel.ts';
import { isGeodeError } from '../base/errors.ts';
import type { Config } from '../config/schema.ts';
import type { Answer } from '../seams/memory.ts';
import { recallBlock } from '../solve/recall-block.ts';
import { type OpenedMemory, type OpenMemoryOptions, openConfiguredMemory } from './configured-memory.ts';
import type { Geode } from './geode.ts';

const fetchTimeoutMs = 600_000;

export interface MemoryAloneOptions extends Pick<OpenMemoryOptions, 'onProgress'> {
  readonly config: Config;
  readonly geode: () => Promise<Pick<Geode, 'egress'>>;
  readonly warn: (message: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Opens existing memory for reading, without a model. Without a memory file, reads an empty one and creates nothing.
 */
export async function memoryToRead(config: Config): Promise<OpenedMemory> {
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
 * Opens memory for storing and searching. Downloads the embedding model once; if that fails, warns and searches by
 * words.
 */
export async function memoryToStore({
  config,
  geode,
  warn,
  signal,
  onProgress,
}: MemoryAloneOptions): Promise<OpenedMemory> {
  const { egress } = await geode();
  const local = await openConfiguredMemory(config, {
    secrets: egress.secretValues,
    ...(onProgress && { onProgress }),
  });
  try {
    await within({ ms: fetchTimeoutMs, what: 'Downloading the embedding model', signal }, () =>
      local.prepare(),
    );
    return local;
  } catch (thrown) {
    if (!isGeodeError(thrown, 'model_unavailable')) {
      await local[Symbol.asyncDispose]();
      throw thrown;
    }
    warn(`${thrown.message} Until it is available, memory searches by words only.`);
    return local;
  }
}

/** Opens memory for searching. An empty memory needs no model. */
export async function memoryToSearch(options: MemoryAloneOptions): Promise<OpenedMemory> {
  return existsSync(options.config.memory.file) ? memoryToStore(options) : memoryToRead(options.config);
}

/** The results of a search as part of a prompt, of about `tokens` tokens at most. */
export function promptBlock({ results }: Answer, tokens: number): string {
  const found = results.map(({ entry }) => entry);
  return recallBlock([], found, tokens).text;
}
