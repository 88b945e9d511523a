/** `bench/results/memory.json`: what each part found, when, on which machine, and how busy that was. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { z } from 'zod';
import { round } from './measure.ts';

const folder = new URL('../results/', import.meta.url);
const file = new URL('memory.json', folder);

const timing = z.object({ p50: z.number(), p99: z.number(), samples: z.int() });
/** The median of some rounds, and the p50 of all. */
const rounds = timing.extend({ rounds: z.array(z.number()).optional() });
const machine = z.object({
  cores: z.number(),
  processor: z.string(),
  memoryGb: z.number(),
  node: z.string(),
});
/** When and where a part was measured: parts may come from different days and machines. */
const run = z.object({ measuredOn: z.iso.date(), machine, load: z.number(), model: z.string() });
const vectors = run.extend({
  results: z.array(
    timing.extend({
      engine: z.string(),
      entries: z.number(),
      filter: z.enum(['none', '2 %']),
      recall10: z.number(),
      bytesPerEntry: z.number().optional(),
    }),
  ),
});
const calls = run.extend({
  engine: z.string(),
  entries: z.number(),
  recall: rounds,
  recallShort: rounds.optional(),
  recallFiltered: rounds,
  embedQuery: rounds,
  store: timing,
  firstRecallMs: z.number(),
  memoryBytesPerEntry: z.number(),
  diskBytesPerEntry: z.number(),
});

const partsSchema = z.object({
  /** For each set the score of each way to rank. */
  quality: run.extend({
    sets: z.record(z.string(), z.record(z.string(), z.number())),
    /** The lead of hybrid over the better half, and its range in paired resamples of the queries. */
    noise: z.record(z.string(), z.object({ more: z.number(), from: z.number(), to: z.number() })).default({}),
  }),
  vectors,
  'vectors-qdrant': vectors,
  calls,
  'calls-qdrant': calls,
});
const resultsSchema = z.object({ parts: partsSchema.partial() });
export type Parts = z.infer<typeof partsSchema>;
export type PartName = keyof Parts;
type Results = z.infer<typeof resultsSchema>;

export function readResults(): Results | null {
  return existsSync(file) ? resultsSchema.parse(JSON.parse(readFileSync(file, 'utf8'))) : null;
}

/** The other parts stay as they were. */
export function keepPart<Name extends PartName>(
  name: Name,
  found: Omit<Parts[Name], 'measuredOn' | 'load' | 'machine'>,
): void {
  const measured = {
    measuredOn: new Date().toISOString().slice(0, 10),
    machine: thisMachine(),
    load: round(loadavg()[0] ?? 0, 1),
    ...found,
  };
  const results = { parts: { ...readResults()?.parts, [name]: measured } };
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, `${JSON.stringify(resultsSchema.parse(results), null, 2)}\n`);
}

export function thisMachine(): z.infer<typeof machine> {
  return {
    cores: availableParallelism(),
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    memoryGb: Math.round(totalmem() / 1024 ** 3),
    node: process.versions.node,
  };
}
