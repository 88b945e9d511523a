/**
 * How well recall finds: nDCG@10 on SciFact. Shares are compared on the train claims only; the test claims
 * are asked once with what was chosen, with each half alone, and with RRF-60.
 */
import type { Fusion, Memory } from '../../src/core/memory.ts';
import { openBenchMemory } from './bench-memory.ts';
import { keep, ndcg10, round } from './measure.ts';
import { loadSciFact, type SciFact } from './scifact.ts';

const fusions: Readonly<Record<string, Fusion>> = {
  hybrid: { kind: 'weighted' },
  'meaning alone': { kind: 'weighted', dense: 1 },
  'words alone': { kind: 'weighted', dense: 0 },
  'RRF-60': { kind: 'rrf', k: 60 },
};
const trainShares = [0.3, 0.5, 0.6, 0.65, 0.7, 0.8];

export async function benchQuality(folder: string | undefined): Promise<Record<string, number>> {
  const scifact = loadSciFact(folder);
  await using bench = await openBenchMemory('scifact');
  const memory = bench.store.in('scifact');
  await fill(memory, scifact);
  await bench.store.settled();
  const train: Record<string, number> = {};
  for (const dense of trainShares)
    train[`share ${dense}`] = await score(memory, scifact.claims.train, { kind: 'weighted', dense });
  const test: Record<string, number> = {};
  for (const [name, fusion] of Object.entries(fusions)) {
    train[name] = await score(memory, scifact.claims.train, fusion);
    test[name] = await score(memory, scifact.claims.test, fusion);
  }
  console.log('SciFact nDCG@10, train:', train);
  console.log('SciFact nDCG@10, test:', test);
  keep('memory-quality', { set: 'SciFact', model: bench.embedder.model, train, test });
  return test;
}

async function fill(memory: Memory, { documents }: SciFact): Promise<void> {
  const { total } = await memory.list({ limit: 1 });
  for (let at = total; at < documents.length; at += 32) {
    process.stderr.write(`\rembedding ${at} of ${documents.length} abstracts`);
    await memory.storeMany(
      documents
        .slice(at, at + 32)
        .map(({ id, text }) => ({ key: id, content: text, category: 'core', source: 'scifact' })),
    );
  }
  process.stderr.write('\n');
}

async function score(memory: Memory, claims: SciFact['claims']['test'], fusion: Fusion): Promise<number> {
  let sum = 0;
  for (const { text, relevant } of claims) {
    const { results } = await memory.recall({ text, fusion });
    sum += ndcg10(
      results.map(({ entry }) => entry.key),
      relevant,
    );
  }
  return round(sum / claims.length, 4);
}
