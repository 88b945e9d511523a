import { globSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { buildAgent } from '../scripts/build-agent.ts';
import { buildCli } from '../scripts/build-cli.ts';
import { buildDashboard } from '../scripts/build-dashboard.ts';
import { buildGuest } from '../scripts/build-guest.ts';
import { type EngineFacts, leftBehind, RunFolder, startEngines } from './engine/index.ts';

declare module 'vitest' {
  interface ProvidedContext {
    engines: EngineFacts;
    /** The temporary folder of each test file, by its path. */
    folders: Readonly<Record<string, string>>;
  }
}

/** Before all tests: the guest, the commands, the dashboard, the program of agents, and real engines. After them: nothing may be left of this run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await buildGuest();
  await buildCli();
  await buildDashboard();
  await buildAgent();
  const engines = await startEngines();
  project.provide('engines', engines.facts);
  for (const [name, fact] of Object.entries(engines.facts)) {
    console.log(fact.available ? `${name}: ready` : `${name}: its tests are skipped, ${fact.reason}`);
  }
  const above = dirname(fileURLToPath(import.meta.url));
  const run = new RunFolder(globSync('**/*.test.ts', { cwd: above }).map((file) => `test/${file}`));
  project.provide('folders', run.folders);
  process.env.TMPDIR = run.path;
  // npm keeps compiled code in the temporary folder; that is not a test's.
  process.env.NODE_DISABLE_COMPILE_CACHE = '1';
  return async () => {
    const left = await leftBehind(engines.facts, run);
    // Said before the engines stop: that may outlast the patience of vitest, and this must not be lost with it.
    if (left.length > 0) {
      process.exitCode = 1;
      console.error(`The tests left something behind:\n${left.join('\n')}`);
    } else {
      console.log(
        'Nothing is left behind: no container, volume, process, mount, loop device, control group or folder.',
      );
    }
    await engines.stop();
    run.remove();
  };
}
