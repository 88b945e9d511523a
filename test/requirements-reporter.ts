import { globSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node';
import { idsIn, missingProofs, whyPartial } from './gate.ts';
import { proofs } from './proofs.ts';
import { allIds, claimedIds } from './requirements.ts';

const slowestCount = 15;

/**
 * The gate on the promises: a claimed id must be named by a test that passed in this run, in each suite that proves
 * it, and a test may only name ids that exist. A run that left tests out only prints what it proved, and that it was
 * no whole run; the reports of shards are judged together (`vitest --merge-reports` with this reporter). Tests that
 * passed only on a second try, and the files that took longest, are printed as well.
 */
export default class RequirementsReporter implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const named = new Set(tests.flatMap(({ fullName }) => idsIn(fullName)));
    const unknown = [...named].filter((id) => !allIds.has(id));
    if (unknown.length > 0) fail(`Tests name ids that do not exist: ${unknown.join(', ')}`);
    const passed = tests
      .filter((test) => test.result().state === 'passed')
      .map((test) => ({ file: test.module.relativeModuleId, name: test.fullName }));
    const missing = missingProofs(passed, claimedIds, proofs);
    const partial = this.#whyPartial(modules);
    if (partial !== null) console.log(`\nNot a whole run, so claims are not checked: ${partial}.`);
    else if (missing.size > 0) {
      const lines = [...missing].map(([id, suites]) => `  ${id}: ${suites.join(', ')}`);
      fail(`Claimed, but no test that names the id passed in these suites:\n${lines.join('\n')}`);
    }
    printFlaky(tests);
    printSlowest(modules);
    const count = (state: string) => tests.filter((test) => test.result().state === state).length;
    console.log(
      `\nPromises: ${allIds.size}; claimed: ${claimedIds.size}; of these proven in this run: ${claimedIds.size - missing.size}.`,
    );
    console.log(`${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped\n`);
  }

  #whyPartial(modules: readonly TestModule[]): string | null {
    if (this.#vitest === undefined) return 'it has no configuration';
    const { root, testNamePattern, tagsFilter } = this.#vitest.config;
    const files = globSync('test/**/*.test.ts', { cwd: root });
    const ran = modules.map(({ moduleId }) => moduleId);
    const filters = [testNamePattern?.source, ...(tagsFilter ?? [])].filter((each) => each !== undefined);
    return whyPartial({ files: files.map((file) => join(root, file)), ran, filters });
  }
}

/** A retry keeps a run green; it does not hide why it was needed. `.ci/run` asks for the files. */
function printFlaky(tests: readonly TestCase[]): void {
  const flaky = tests.filter((test) => test.diagnostic()?.flaky === true);
  const files = [...new Set(flaky.map(({ module }) => module.relativeModuleId))];
  const list = process.env.GEODE_FLAKY_LIST;
  if (list !== undefined) writeFileSync(list, files.map((file) => `${file}\n`).join(''));
  if (flaky.length === 0) return;
  console.log(`\nFLAKY: ${flaky.length} passed only on the second try; the budget is 0`);
  for (const test of flaky) {
    console.log(`  FLAKY ${test.module.relativeModuleId} > ${test.fullName}`);
    for (const { message } of test.result().errors ?? []) console.log(`    first: ${message.split('\n')[0]}`);
  }
}

function printSlowest(modules: readonly TestModule[]): void {
  if (modules.length < 2) return;
  const timed = modules
    .map((module) => ({ file: module.relativeModuleId, ms: module.diagnostic().duration }))
    .toSorted((one, other) => other.ms - one.ms)
    .slice(0, slowestCount);
  console.log('\nSlowest files:');
  for (const { file, ms } of timed) console.log(`  ${(ms / 1000).toFixed(1).padStart(6)} s  ${file}`);
}

function fail(message: string): void {
  console.error(message);
  process.exitCode = 1;
}
