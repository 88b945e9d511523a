import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { buildGuest } from '../scripts/build-guest.ts';
import { type EngineFacts, leftovers, startEngines } from './engine/index.ts';

declare module 'vitest' {
  interface ProvidedContext {
    engines: EngineFacts;
  }
}

/** Before all tests: the guest, and real engines. After them: nothing may be left that was not there before. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  buildGuest();
  const engines = await startEngines();
  project.provide('engines', engines.facts);
  for (const [name, fact] of Object.entries(engines.facts)) {
    console.log(fact.available ? `${name}: ready` : `${name}: its tests are skipped, ${fact.reason}`);
  }
  // Every test's folders land in one of this run's own, so that a forgotten one is seen.
  const scratch = mkdtempSync(join(tmpdir(), 'geode-run-'));
  process.env.TMPDIR = scratch;
  // npm keeps compiled code in the temporary folder; that is not a test's.
  process.env.NODE_DISABLE_COMPILE_CACHE = '1';
  const before = new Set(await leftovers(engines.facts, [scratch]));
  return async () => {
    const left = (await leftovers(engines.facts, [scratch])).filter((line) => !before.has(line));
    await engines.stop();
    rmSync(scratch, { recursive: true, force: true });
    if (left.length > 0) throw new Error(`The tests left something behind:\n${left.join('\n')}`);
    console.log('Nothing is left behind: no container, volume, process, mount or folder.');
  };
}
