import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { machineSchema } from './machine.ts';
import { findingsSchema } from './section.ts';

const file = fileURLToPath(new URL('results/spine.json', import.meta.url));

/** By the name of the section, in the order of the bench. Each was measured in one run, and on one machine. */
const resultsSchema = z.record(
  z.string(),
  findingsSchema.extend({ title: z.string(), measuredOn: z.iso.date(), machine: machineSchema }),
);
export type Results = z.infer<typeof resultsSchema>;

/** Undefined before the first run. */
export async function readResults(): Promise<Results | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : resultsSchema.parse(JSON.parse(text));
}

/** Keeps the other sections of earlier runs. */
export async function saveResults(results: Results, order: readonly string[]): Promise<void> {
  const all = { ...(await readResults()), ...results };
  const known = order.flatMap((name) => (all[name] === undefined ? [] : [[name, all[name]] as const]));
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify(Object.fromEntries(known), null, 2)}\n`);
}
