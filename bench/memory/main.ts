/** `node bench/memory/main.ts [quality] [vectors] [recall] [folder of SciFact]`: all of them without a name. */
import { plotMemory } from './plots.ts';
import { benchQuality } from './quality.ts';
import { benchRecall } from './recall.ts';
import { benchVectors } from './vectors.ts';

const parts: Readonly<Record<string, (folder: string | undefined) => Promise<unknown>>> = {
  quality: benchQuality,
  vectors: benchVectors,
  recall: benchRecall,
};
const given = process.argv.slice(2);
const named = given.filter((argument) => argument in parts);
const folder = given.find((argument) => !(argument in parts)) ?? process.env.GEODE_BENCH_DATA;
for (const [name, bench] of Object.entries(parts)) {
  if (named.length === 0 || named.includes(name)) await bench(folder);
}
plotMemory();
