import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { GeodeError } from '../../src/base/errors.ts';
import { words } from '../../src/base/words.ts';
import type { QdrantOptions } from '../../src/memory/index/qdrant/qdrant-index.ts';
import { openMemory } from '../../src/memory/open-memory.ts';
import type { Embedder, MemoryStore } from '../../src/seams/memory.ts';

/** The real memory in its own file. Texts are alike as far as they share words, so that no model is needed. */
export async function openTestMemory(dir: string, qdrant?: QdrantOptions): Promise<MemoryStore> {
  return openMemory({ file: join(dir, 'memory.db'), embedder: wordEmbedder, ...(qdrant && { qdrant }) });
}

/** Opens memory with a failing embedder, so that only the keyword half answers. */
export async function openMemoryWithoutMeaning(dir: string): Promise<MemoryStore> {
  const fail = () => Promise.reject(new GeodeError('embedder_failed', 'connect ECONNREFUSED 10.0.0.7:11434'));
  return openMemory({ file: join(dir, 'memory.db'), embedder: { ...wordEmbedder, embed: fail } });
}

const dimensions = 64;
const stop = async () => {};

const wordEmbedder: Embedder = {
  model: 'test/words',
  dimensions,
  chunkLength: 10_000,
  batchLength: 100_000,
  embed: async (texts) => texts.map(embed),
  stop,
  [Symbol.asyncDispose]: stop,
};

function embed(text: string): Float32Array {
  const vector = new Float32Array(dimensions);
  for (const word of ['', ...words(text)]) {
    const [place = 0, sign = 0] = createHash('sha256').update(word).digest();
    const at = place % dimensions;
    vector[at] = (vector[at] ?? 0) + (sign % 2 === 0 ? 1 : -1);
  }
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}

/** The same, with some methods of the test. */
export function overriding<T extends object>(target: T, overrides: Partial<T>): T {
  return new Proxy(target, {
    get(_, name) {
      const value = Reflect.get(name in overrides ? overrides : target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
