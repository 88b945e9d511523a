/**
 * How well recall finds: nDCG@10, hybrid, by each half alone, and by RRF-60. Fixed shares are compared on SciFact's
 * train claims, never on its test claims. Dialogues are measured twice: as loose turns, and with their threads declared.
 */

import { openMemory } from '../../src/memory/open-memory.ts';
import { chunks } from '../../src/memory/text/chunks.ts';
import type { Embedder, Memory } from '../../src/seams/memory.ts';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { keptVectors, knowing, openModel } from './bench-memory.ts';
import type { BenchData } from './data.ts';
import { round, seeded } from './measure.ts';
import { keepPart, type Parts } from './results.ts';
import {
  fusions,
  mean,
  quality,
  type RetrievalDocument,
  type RetrievalQuery,
  type RetrievalSet,
  scores,
  storeDocuments,
} from './retrieval.ts';

const trainShares = [0.5, 0.6, 0.7];
const RESAMPLES = 2_000;

type Ways = Record<keyof typeof fusions, number[]>;

export async function benchQuality({ scifact, humanEval, dialogues }: BenchData): Promise<void> {
  await using model = await openModel();
  const sets: Record<string, Record<string, number>> = {};
  const noise: Parts['quality']['noise'] = {};
  const note = (name: string, ways: Ways) => {
    sets[name] = Object.fromEntries(Object.entries(ways).map(([way, found]) => [way, mean(found)]));
    noise[name] = againstBetterHalf(ways);
    console.log(name, sets[name], noise[name]);
  };
  if (dialogues !== null) {
    for (const places of ['unsaid', 'declared'] as const) {
      const all: Ways[] = [];
      for (const set of dialogues)
        await withMemory(set, set.queries, model, places, async (memory) => {
          all.push(await inAllWays(memory, set.queries));
        });
      note(places === 'declared' ? 'dialogues, threads declared' : 'dialogues', joined(all));
    }
  }
  await withMemory(humanEval, humanEval.queries, model, 'unsaid', async (memory) => {
    note('HumanEval as code search', await inAllWays(memory, humanEval.queries));
  });
  const { train, test } = scifact.claims;
  const claims: RetrievalSet = { documents: scifact.documents, queries: test };
  await withMemory(claims, [...test, ...train], model, 'unsaid', async (memory) => {
    note('SciFact test', await inAllWays(memory, test));
    note('SciFact train', await inAllWays(memory, train));
    for (const dense of trainShares)
      Object.assign(sets['SciFact train'] ?? {}, {
        [`share ${dense}`]: await quality(memory, train, { kind: 'weighted', dense }),
      });
  });
  keepPart('quality', { model: model.model, sets, noise });
}

async function inAllWays(memory: Memory, queries: readonly RetrievalQuery[]): Promise<Ways> {
  const found: Ways = { hybrid: [], 'RRF-60': [], 'meaning alone': [], 'words alone': [] };
  for (const way of Object.keys(found) as (keyof Ways)[])
    found[way] = await scores(memory, queries, fusions[way]);
  return found;
}

function joined(all: readonly Ways[]): Ways {
  const of = (way: keyof Ways) => all.flatMap((ways) => ways[way]);
  return {
    hybrid: of('hybrid'),
    'RRF-60': of('RRF-60'),
    'meaning alone': of('meaning alone'),
    'words alone': of('words alone'),
  };
}

/** The lead of hybrid over the better half, and its range in 95 of 100 paired resamples of the queries. */
function againstBetterHalf(ways: Ways): { more: number; from: number; to: number } {
  const [meaning, words] = [ways['meaning alone'], ways['words alone']];
  const half = mean(meaning) > mean(words) ? meaning : words;
  const gains = ways.hybrid.map((score, i) => score - (half[i] ?? 0));
  const random = seeded(1);
  const resampled = Array.from({ length: RESAMPLES }, () =>
    mean(gains.map(() => gains[Math.floor(random() * gains.length)] ?? 0)),
  ).sort((a, b) => a - b);
  const at = (share: number) => round(resampled[Math.floor(RESAMPLES * share)] ?? 0, 4);
  return { more: mean(gains), from: at(0.025), to: at(0.975) };
}

async function withMemory(
  set: RetrievalSet,
  queries: readonly RetrievalQuery[],
  model: Embedder,
  places: 'declared' | 'unsaid',
  ask: (memory: Memory) => Promise<void>,
): Promise<void> {
  const pieces = set.documents.flatMap(({ text }) => chunks(text, model.chunkLength));
  const texts = places === 'declared' ? [pieces, afterTheOneBefore(set.documents)] : [pieces];
  const known = new Map<string, Float32Array | undefined>();
  for (const some of texts) {
    const vectors = await keptVectors(some, model, 'entry');
    for (const [i, text] of some.entries()) known.set(text, vectors[i]);
  }
  const questions = queries.map(({ text }) => text);
  const asked = await keptVectors(questions, model, 'query');
  const askedOf = new Map(questions.map((text, i) => [text, asked[i]]));
  using folder = temporaryFolder();
  await using store = openMemory({
    file: `${folder.path}/memory.db`,
    embedder: knowing(
      model,
      (text) => known.get(text),
      (text) => askedOf.get(text),
    ),
  });
  const memory = store.in('bench');
  await storeDocuments(memory, set, places);
  await store.settled();
  await ask(memory);
}

/** Texts that the indexer embeds besides the documents themselves. */
function afterTheOneBefore(documents: readonly RetrievalDocument[]): string[] {
  return documents.flatMap(({ text, position }, i) => {
    const before = documents[i - 1];
    const follows = position !== undefined && before?.position?.thread === position.thread;
    return follows ? [`${before?.text ?? ''}\n${text}`] : [];
  });
}
