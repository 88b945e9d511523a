/** An embedder without a model: texts that share words are near each other. Fast, and the same everywhere. */
import { setImmediate } from 'node:timers/promises';
import { GeodeError } from '../../src/base/errors.ts';
import { wordHash, words } from '../../src/base/words.ts';
import type { Embedder } from '../../src/seams/memory.ts';

export interface WordEmbedder extends Embedder {
  /** Makes every call fail until it is set to null again. */
  down: string | null;
  calls: number;
  /** Every call waits for it. */
  gate: Promise<void>;
  /** The texts of all calls, in order. */
  readonly seen: string[];
}

export function wordEmbedder({ model = 'words', dimensions = 64 } = {}): WordEmbedder {
  return {
    model: `${model}-${dimensions}`,
    dimensions,
    chunkLength: 500,
    batchLength: 5_000,
    down: null,
    calls: 0,
    gate: Promise.resolve(),
    seen: [],
    async embed(texts) {
      this.calls += 1;
      this.seen.push(...texts);
      await this.gate;
      await setImmediate();
      if (this.down !== null) throw new GeodeError('embedder_failed', this.down);
      return texts.map((text) => vectorOf(text, dimensions));
    },
    stop: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function vectorOf(text: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions).fill(0.01);
  for (const word of words(text)) {
    const hash = wordHash(word);
    const at = hash % dimensions;
    vector[at] = (vector[at] ?? 0) + ((hash >>> 16) % 2 === 0 ? 1 : -1);
  }
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}
