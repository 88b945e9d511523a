import type { Reporter, TestModule } from 'vitest/node';
import { allIds, claimedIds, idPattern } from './requirements.ts';

/**
 * The gate on the promises: a claimed id must be named by a test that passed in this run, and a test may
 * only name ids that exist. A run of some files only prints what it proved.
 */
export default class RequirementsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const named = (state: string) =>
      new Set(
        tests
          .filter((test) => test.result().state === state)
          .flatMap((test) => test.fullName.match(idPattern) ?? []),
      );
    const proven = named('passed');
    const unknown = [...proven, ...named('failed'), ...named('skipped')].filter((id) => !allIds.has(id));
    const missing = [...claimedIds].filter((id) => !proven.has(id));
    const whole = process.argv.slice(2).every((argument) => argument === 'run');
    if (unknown.length > 0) this.#fail(`Tests name ids that do not exist: ${unknown.join(', ')}`);
    if (whole && missing.length > 0)
      this.#fail(`Claimed, but proven by no passed test: ${missing.join(', ')}`);
    const count = (state: string) => tests.filter((test) => test.result().state === state).length;
    console.log(
      `\nPromises: ${allIds.size}; claimed: ${claimedIds.size}; of these proven in this run: ${claimedIds.size - missing.length}.`,
    );
    console.log(`${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped\n`);
  }

  #fail(message: string): void {
    console.error(message);
    process.exitCode = 1;
  }
}
