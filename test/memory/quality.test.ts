import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { fusions, quality, type RetrievalSet, storeDocuments } from '../../bench/memory/retrieval.ts';
import { openLocalEmbedder } from '../../src/memory/embed/local-embedder.ts';
import { openMemory } from '../../src/memory/open-memory.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { modelOrSkip } from './model-or-skip.ts';

const line = z.union([
  z.object({ id: z.string(), text: z.string() }),
  z.object({ query: z.string(), relevant: z.array(z.string()) }),
]);

function loadSet(name: string): RetrievalSet {
  const lines = readFileSync(new URL(`retrieval/${name}.jsonl`, import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((text) => line.parse(JSON.parse(text)));
  return {
    documents: lines.filter((one) => 'id' in one),
    queries: lines
      .filter((one) => 'query' in one)
      .map(({ query, relevant }) => ({ text: query, relevant: new Set(relevant) })),
  };
}

it.for(['scifact', 'humaneval'])(
  'finds more with both halves than by meaning, words or ranks alone: %s',
  { timeout: 900_000 },
  async (name, context) => {
    await using embedder = openLocalEmbedder({ folder: await modelOrSkip(context) });
    using folder = temporaryFolder();
    await using store = openMemory({ file: `${folder.path}/memory.db`, embedder });
    const memory = store.in('quality');
    const set = loadSet(name);
    await storeDocuments(memory, set);
    await store.settled();
    const whole = await quality(memory, set.queries, fusions.hybrid);
    const others = {
      meaning: await quality(memory, set.queries, fusions['meaning alone']),
      words: await quality(memory, set.queries, fusions['words alone']),
      ranks: await quality(memory, set.queries, fusions['RRF-60']),
    };
    for (const [how, score] of Object.entries(others)) {
      expect(score, how).toBeGreaterThan(0.5);
      expect(whole, how).toBeGreaterThan(score);
    }
  },
);
