/** The real model, and a folder that outlives the run: embedding a corpus takes minutes. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { EmbedQueue } from '../../src/memory/embed/embed-queue.ts';
import { modelFolder } from '../../src/memory/embed/fetch-model.ts';
import { openLocalEmbedder } from '../../src/memory/embed/local-embedder.ts';
import type { Embedder } from '../../src/seams/memory.ts';

const SLICE = 200;

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

/** Embeds each text once for each model, however often the bench runs or is interrupted. */
export async function keptVectors(
  texts: readonly string[],
  embedder: Embedder,
  purpose: 'query' | 'entry',
): Promise<Float32Array[]> {
  const vectors: Float32Array[] = [];
  for (let at = 0; at < texts.length; at += SLICE) {
    const slice = texts.slice(at, at + SLICE);
    const file = keptFile(JSON.stringify([embedder.model, purpose, slice]));
    if (!existsSync(file)) {
      process.stderr.write(`\rembedding ${at} of ${texts.length} texts `);
      writeFileSync(file, await embedAll(slice, embedder, purpose));
    }
    const all = new Float32Array(new Uint8Array(readFileSync(file)).buffer);
    const { dimensions } = embedder;
    vectors.push(...slice.map((_, i) => all.subarray(i * dimensions, (i + 1) * dimensions)));
  }
  return vectors;
}

function keptFile(of: string): string {
  const folder = join(modelFolder(process.env, homedir()), '..', 'bench');
  mkdirSync(folder, { recursive: true });
  return join(folder, `${createHash('sha256').update(of).digest('hex').slice(0, 24)}.vectors`);
}

async function embedAll(
  texts: readonly string[],
  embedder: Embedder,
  purpose: 'query' | 'entry',
): Promise<Uint8Array> {
  const queue = new EmbedQueue(embedder);
  const vectors = await queue.embed(texts, purpose);
  return Buffer.concat(vectors.map((vector) => new Uint8Array(vector.buffer)));
}

/** An embedder that knows some vectors already; for everything else it asks the model. */
export function knowing(
  embedder: Embedder,
  vectorOf: (text: string) => Float32Array | undefined,
  queryVectorOf: (text: string) => Float32Array | undefined = () => undefined,
): Embedder {
  return {
    model: embedder.model,
    dimensions: embedder.dimensions,
    chunkLength: embedder.chunkLength,
    batchLength: embedder.batchLength,
    async embed(texts, purpose, options) {
      const known = texts.map(purpose === 'entry' ? vectorOf : queryVectorOf);
      const missing = texts.filter((_, i) => known[i] === undefined);
      const made = missing.length === 0 ? [] : [...(await embedder.embed(missing, purpose, options))];
      return known.map((vector) => vector ?? made.shift() ?? new Float32Array(embedder.dimensions));
    },
    stop: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
