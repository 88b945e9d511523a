import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/setup.ts'],
    setupFiles: ['test/own-folder.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 180_000,
    hookTimeout: 240_000,
    // The engines have to stop, and what is left behind has to be found.
    teardownTimeout: 180_000,
    // A machine under load may fail a test for no reason of its own. A second try is printed as FLAKY and counted by
    // .ci/run; the tests of test/retries.ts have none.
    retry: process.env.CI ? 1 : 0,
    runner: './test/runner.ts',
    reporters: ['default', './test/requirements-reporter.ts'],
  },
});
