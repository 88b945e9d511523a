import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { machineSchema } from './machine.ts';
import { findingsSchema } from './section.ts';

const file = fileURLToPath(new URL('results/spine.json', import.meta.url));

const resultsSchema = z.object({
  machine: machineSchema,
  /** By the name of the section, in the order of the bench. */
  sections: z.record(z.string(), findingsSchema.extend({ title: z.string(), measuredOn: z.iso.date() })),
});
export type Results = z.infer<typeof resultsSchema>;

/** Undefined before the first run. */
export async function readResults(): Promise<Results | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : resultsSchema.parse(JSON.parse(text));
}

/** Keeps the other sections of earlier runs, as long as the machine is the same. */
export async function saveResults(results: Results, order: readonly string[]): Promise<void> {
  const before = await readResults();
  const kept = isDeepStrictEqual(before?.machine, results.machine) ? before?.sections : {};
  const all = { ...kept, ...results.sections };
  const known = order.flatMap((name) => (all[name] === undefined ? [] : [[name, all[name]] as const]));
  const text = JSON.stringify({ machine: results.machine, sections: Object.fromEntries(known) }, null, 2);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${text}\n`);
}
