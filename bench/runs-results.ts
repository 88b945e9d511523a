import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';

const file = new URL('results/runs.json', import.meta.url);

/** The results of the bench's parts so far; each part replaces its own. */
export function saveRunResults(part: Readonly<Record<string, unknown>>): void {
  mkdirSync(new URL('.', file), { recursive: true });
  writeFileSync(file, `${JSON.stringify({ ...readRunResults(), ...part }, null, 2)}\n`);
}

function readRunResults(): Readonly<Record<string, unknown>> {
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return {};
  }
}
