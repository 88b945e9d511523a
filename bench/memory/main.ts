/**
 * `npm run bench:memory -- [part …] <folder of SciFact>`: all parts without a name. Each takes some minutes and
 * replaces its own numbers in `bench/results/memory.json`; the plots and the table in `docs/` follow.
 */
import { benchCalls, benchCallsInQdrant } from './calls.ts';
import { writeDocuments } from './documents.ts';
import { benchQuality } from './quality.ts';
import type { PartName } from './results.ts';
import { loadSciFact, type SciFact } from './scifact.ts';
import { benchVectors, benchVectorsInQdrant } from './vectors.ts';

const parts: Readonly<Record<PartName, (scifact: SciFact) => Promise<void>>> = {
  quality: benchQuality,
  vectors: benchVectors,
  'vectors-qdrant': benchVectorsInQdrant,
  calls: benchCalls,
  'calls-qdrant': benchCallsInQdrant,
};
const given = process.argv.slice(2);
const named = given.filter((argument) => argument in parts);
const scifact = loadSciFact(given.find((argument) => !(argument in parts)) ?? process.env.GEODE_BENCH_DATA);
for (const [name, bench] of Object.entries(parts)) {
  if (named.length > 0 && !named.includes(name)) continue;
  const start = performance.now();
  await bench(scifact);
  console.log(`${name}: ${Math.round((performance.now() - start) / 1000)} s`);
}
writeDocuments();
