/** `node bench/memory/main.ts [quality] [vectors] [recall] [folder of SciFact]`: all of them without a name. */
import { benchQuality } from './quality.ts';

const parts = { quality: benchQuality };
const named = process.argv.slice(2).filter((argument) => argument in parts);
const folder = process.argv.slice(2).find((argument) => !(argument in parts)) ?? process.env.GEODE_BENCH_DATA;
for (const [name, bench] of Object.entries(parts)) {
  if (named.length === 0 || named.includes(name)) await bench(folder);
}
