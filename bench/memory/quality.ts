/**
 * How well recall finds: nDCG@10 on SciFact. Shares are compared on the train claims only; the test claims
 * are asked with what was chosen, with each half alone, and with RRF-60.
 */
import type { Fusion, Memory } from '../../src/core/memory.ts';
import { openMemory } from '../../src/memory/open-memory.ts';
import { chunks } from '../../src/memory/text/chunks.ts';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { keptVectors, knowing, openModel } from './bench-memory.ts';
import { ndcg10, round } from './measure.ts';
import { keepPart } from './results.ts';
import type { SciFact } from './scifact.ts';

const fusions: Readonly<Record<string, Fusion>> = {
  hybrid: { kind: 'weighted' },
  'RRF-60': { kind: 'rrf', k: 60 },
  'meaning alone': { kind: 'weighted', dense: 1 },
  'words alone': { kind: 'weighted', dense: 0 },
};
const trainShares = [0.3, 0.5, 0.6, 0.65, 0.7, 0.8];
const BATCH = 500;

export async function benchQuality(scifact: SciFact): Promise<void> {
  await using model = await openModel();
  const pieces = scifact.documents.flatMap(({ text }) => chunks(text, model.chunkLength));
  const vectors = await keptVectors(pieces, model, 'entry');
  const known = new Map(pieces.map((piece, i) => [piece, vectors[i]]));
  using folder = temporaryFolder();
  await using store = openMemory({
    file: `${folder.path}/scifact.db`,
    embedder: knowing(model, (text) => known.get(text)),
  });
  const memory = store.in('scifact');
  for (let at = 0; at < scifact.documents.length; at += BATCH) {
    const batch = scifact.documents.slice(at, at + BATCH);
    await memory.storeMany(
      batch.map(({ id, text }) => ({ key: id, content: text, category: 'core', source: 'scifact' })),
    );
  }
  await store.settled();
  const train: Record<string, number> = {};
  const test: Record<string, number> = {};
  for (const dense of trainShares)
    train[`share ${dense}`] = await score(memory, scifact.claims.train, { kind: 'weighted', dense });
  for (const [name, fusion] of Object.entries(fusions)) {
    train[name] = await score(memory, scifact.claims.train, fusion);
    test[name] = await score(memory, scifact.claims.test, fusion);
  }
  console.log('SciFact nDCG@10:', { train, test });
  keepPart('quality', { set: 'SciFact', model: model.model, train, test });
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
