import { join } from 'node:path';
import { z } from 'zod';
import type { Machine } from '../machine/machine.ts';
import { folder, size } from './setting-types.ts';

export function memorySettings(machine: Machine) {
  return z
    .strictObject({
      file: folder.default(join(machine.stateDir, 'memory.db')).describe('SQLite file of the memory'),
      index: z.enum(['embedded', 'qdrant']).default('embedded').describe('the search index'),
      embedder: z
        .enum(['local', 'openai', 'ollama'])
        .default('local')
        .describe('provider of the embedding model'),
      model: z
        .string()
        .min(1)
        .optional()
        .describe("the embedder's model; local: gte-small or all-MiniLM-L6-v2"),
      dimensions: z
        .number()
        .int()
        .positive()
        .optional()
        .describe('dimensions of the vectors; required for openai and ollama'),
      base_url: z
        .url()
        .optional()
        .describe("the embedder's address, for openai-compatible services and ollama"),
      api_key: z.string().min(1).optional().describe("the embedder's key"),
      model_dir: folder.default(join(machine.cacheDir, 'models')).describe('where local models are kept'),
      pending_text: size
        .default(256 * 2 ** 20)
        .describe('maximum text of one user that waits for indexing: "256m"; more is refused'),
    })
    .prefault({});
}

export const qdrantSettings = z
  .strictObject({
    url: z.url().default('http://127.0.0.1:6333').describe('Qdrant address, for memory.index "qdrant"'),
    api_key: z.string().min(1).optional().describe("Qdrant's key"),
    collection: z.string().min(1).optional().describe('prefix of collection names'),
    replicas: z.number().int().positive().optional().describe('copies of each shard in a cluster'),
  })
  .prefault({});
