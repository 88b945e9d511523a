import { rm } from 'node:fs/promises';
import { createRuns, type Runs, type RunsOptions } from '../../src/runs/index.ts';
import type { RuntimesOptions } from '../../src/runtimes/index.ts';
import type { LanguageName } from '../../src/seams/run.ts';
import type { Capabilities, Runtime } from '../../src/seams/runtime.ts';
import { availableOf, testOptions, type World } from '../contracts/harness.ts';

/** Images that hold the languages' toolchains here, where none can be pulled. */
export const testImages: Readonly<Record<LanguageName, string>> = {
  python: 'geode-test/python:1',
  javascript: 'geode-test/node:1',
  typescript: 'geode-test/node:1',
  shell: 'geode-test/busybox:1',
  rust: 'geode-test/rust:1',
  go: 'geode-test/go:1',
};

export interface RunsHarness {
  readonly runs: Runs;
  readonly runtime: Runtime;
  readonly capabilities: Capabilities;
  readonly options: RuntimesOptions;
  close(): Promise<void>;
}

/** Runs in a world of their own. */
export async function openRuns(
  make: (options: RuntimesOptions) => Runtime,
  world: World = {},
  changes: Partial<RunsOptions> = {},
): Promise<RunsHarness> {
  const options = await testOptions(world);
  const runtime = make(options);
  const found = await availableOf(runtime);
  const runs = createRuns({
    runtimes: [runtime],
    choose: async () => runtime,
    images: testImages,
    pool: { floor: 1, ceiling: 4 },
    concurrency: 8,
    mostWaiting: 100,
    pullDeadlineMs: 60_000,
    ...changes,
  });
  return {
    runs,
    runtime,
    options,
    capabilities: found.capabilities,
    async close() {
      await runs[Symbol.asyncDispose]();
      for (const id of await runtime.traces())
        if (id.startsWith(`run-${process.pid}-`)) await runtime.remove(id);
      await rm(options.folder, { recursive: true, force: true });
    },
  };
}
