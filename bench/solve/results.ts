/** `bench/results/solve.json`: what crystals changed, on which machine, and how busy that was. */
import { readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { z } from 'zod';
import { thisMachine } from '../memory/results.ts';

const file = new URL('../results/solve.json', import.meta.url);

const tallySchema = z.object({
  solved: z.int(),
  attempts: z.int(),
  rerun: z.int(),
  tokens: z.int(),
  seconds: z.number(),
});
const setSchema = z.object({
  name: z.string(),
  problems: z.int(),
  without: tallySchema,
  with: tallySchema,
  /** Solved without crystals and not with them. */
  lost: z.int(),
});
const resultsSchema = z.object({
  measuredOn: z.iso.date(),
  machine: z.record(z.string(), z.union([z.string(), z.number()])),
  load: z.number(),
  /** How many of the recorded verdicts came out the same. */
  reproduced: z.object({ same: z.int(), problems: z.int(), solved: z.int() }),
  sets: z.array(setSchema),
});

export type Tally = z.infer<typeof tallySchema>;
export type SetResult = z.infer<typeof setSchema>;
export type SolveResults = z.infer<typeof resultsSchema>;

export function readSolveResults(): SolveResults {
  return resultsSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
}

export function keepSolveResults(found: Pick<SolveResults, 'reproduced' | 'sets'>): void {
  const results = {
    measuredOn: new Date().toISOString().slice(0, 10),
    machine: thisMachine(),
    load: Number((loadavg()[0] ?? 0).toFixed(1)),
    ...found,
  };
  writeFileSync(file, `${JSON.stringify(resultsSchema.parse(results), null, 2)}\n`);
}
