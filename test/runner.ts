import { TestRunner } from 'vitest';
import { mayRetry } from './retries.ts';

type Task = Parameters<TestRunner['onBeforeRunTask']>[0];

/** The usual runner, without a second try for the tests that have one only. */
export default class GeodeRunner extends TestRunner {
  override async onBeforeRunTask(test: Task): Promise<void> {
    await super.onBeforeRunTask(test);
    if (test.type === 'test' && !mayRetry(test.file.filepath, test.fullTestName)) test.retry = 0;
  }
}
