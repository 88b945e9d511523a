/**
 * How well recall finds: nDCG@10 on public sets, with the share that recall chooses, with each half alone, and with
 * RRF-60. Fixed shares are compared on SciFact's train claims, never on its test claims.
 */
import type { Embedder, Memory } from '../../src/core/memory.ts';
import { openMemory } from '../../src/memory/open-memory.ts';
import { chunks } from '../../src/memory/text/chunks.ts';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { keptVectors, knowing, openModel } from './bench-memory.ts';
import type { BenchData } from './data.ts';
import { keepPart } from './results.ts';
import { fusions, quality, type RetrievalQuery, type RetrievalSet, storeDocuments } from './retrieval.ts';

const trainShares = [0.3, 0.5, 0.6, 0.65, 0.7, 0.8];

export async function benchQuality({ scifact, humanEval }: BenchData): Promise<void> {
  await using model = await openModel();
  const sets: Record<string, Record<string, number>> = {};
  const claims: RetrievalSet = { documents: scifact.documents, queries: scifact.claims.test };
  await withMemory(claims, model, async (memory) => {
    sets['SciFact test'] = await all(memory, claims.queries);
    sets['SciFact train'] = await all(memory, scifact.claims.train);
    for (const dense of trainShares)
      sets['SciFact train'][`share ${dense}`] = await quality(memory, scifact.claims.train, {
        kind: 'weighted',
        dense,
      });
  });
  await withMemory(humanEval, model, async (memory) => {
    sets['HumanEval as code search'] = await all(memory, humanEval.queries);
  });
  console.log('nDCG@10:', sets);
  keepPart('quality', { model: model.model, sets });
}

async function all(memory: Memory, queries: readonly RetrievalQuery[]): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const [name, fusion] of Object.entries(fusions)) found[name] = await quality(memory, queries, fusion);
  return found;
}

async function withMemory(
  set: RetrievalSet,
  model: Embedder,
  ask: (memory: Memory) => Promise<void>,
): Promise<void> {
  const pieces = set.documents.flatMap(({ text }) => chunks(text, model.chunkLength));
  const vectors = await keptVectors(pieces, model, 'entry');
  const known = new Map(pieces.map((piece, i) => [piece, vectors[i]]));
  using folder = temporaryFolder();
  await using store = openMemory({
    file: `${folder.path}/memory.db`,
    embedder: knowing(model, (text) => known.get(text)),
  });
  const memory = store.in('bench');
  await storeDocuments(memory, set);
  await store.settled();
  await ask(memory);
}
