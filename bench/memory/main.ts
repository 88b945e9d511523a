/**
 * `npm run bench:memory -- [part …] <folder>`: all parts without a name. The folder holds `scifact/` and `humaneval/`,
 * and `dialogues/` where it may.
 * Each part takes some minutes and replaces its own numbers in `bench/results/memory.json`; the plots and the tables in
 * `docs/` follow.
 */
import { benchCalls, benchCallsInQdrant } from './calls.ts';
import { type BenchData, loadData } from './data.ts';
import { writeDocuments } from './documents.ts';
import { benchQuality } from './quality.ts';
import type { PartName } from './results.ts';
import { benchVectors, benchVectorsInQdrant } from './vectors.ts';

const parts: Readonly<Record<PartName, (data: BenchData) => Promise<void>>> = {
  quality: benchQuality,
  vectors: benchVectors,
  'vectors-qdrant': benchVectorsInQdrant,
  calls: benchCalls,
  'calls-qdrant': benchCallsInQdrant,
};
const given = process.argv.slice(2);
const named = given.filter((argument) => argument in parts);
const data = loadData(given.find((argument) => !(argument in parts)) ?? process.env.GEODE_BENCH_DATA);
for (const [name, bench] of Object.entries(parts)) {
  if (named.length > 0 && !named.includes(name)) continue;
  const start = performance.now();
  await bench(data);
  console.log(`${name}: ${Math.round((performance.now() - start) / 1000)} s`);
}
writeDocuments();
