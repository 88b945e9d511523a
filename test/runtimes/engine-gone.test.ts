import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { dockerRuntime } from '../../src/runtimes/docker/docker.ts';
import type { Sandbox } from '../../src/seams/sandbox.ts';
import { eventually, type TestOptions, testOptions } from '../contracts/harness.ts';
import { EngineRelay } from '../fixtures/engine-relay.ts';

const { docker } = inject('engines');
const why = docker.available ? '' : ` (skipped: ${docker.reason})`;
/** Calls give up a lost link after a while of their own. */
const giveUpDeadlineMs = 120_000;

describe.skipIf(!docker.available)(`an engine that goes away${why}`, () => {
  let options: TestOptions;
  let relay: EngineRelay;
  let sandbox: Sandbox;
  const runtime = () => dockerRuntime(options, options.docker);
  beforeAll(async () => {
    const base = await testOptions({ dockerLink: 'stdio' });
    relay = new EngineRelay(join(base.folder, 'engine.sock'), docker.available ? docker.socket : '');
    options = { ...base, docker: { ...base.docker, host: `unix://${relay.socket}` } };
    await relay.come();
    sandbox = await runtime().open({});
  });
  afterAll(async () => {
    await relay.go();
    await relay.come();
    await runtime().remove(sandbox.id);
    await relay.go();
    await options[Symbol.asyncDispose]();
  });

  it(
    'RT-12: running commands fail with an error, never an exit code; the sandbox works again when the engine is back',
    async () => {
      const process = await sandbox.spawn({ argv: ['/bin/sh', '-c', 'echo begun; exec sleep 1000'] });
      const running = sandbox.exec({ argv: ['/bin/sh', '-c', 'exec sleep 1000'] });
      const outcome = running.then(
        ({ exitCode }) => ({ exitCode }),
        ({ code }) => ({ code }),
      );
      await relay.go();

      await expect(runtime().open({})).rejects.toMatchObject({
        code: 'runtime_unavailable',
        message: expect.stringContaining('no engine listens'),
      });
      expect(await runtime().list()).toMatchObject([{ id: sandbox.id, state: 'unknown' }]);
      await expect(sandbox.exec({ argv: ['true'] })).rejects.toMatchObject({ code: 'timed_out' });
      expect(await outcome).toEqual({ code: 'timed_out' });

      await relay.come();
      await eventually(
        async () => (await sandbox.exec({ argv: ['/bin/sh', '-c', 'exit 7'] })).exitCode === 7,
        'the sandbox after the engine is back',
        giveUpDeadlineMs,
      );
      expect((await sandbox.processes()).processes).toContainEqual(
        expect.objectContaining({ id: process.id, state: 'running' }),
      );
    },
    2 * giveUpDeadlineMs,
  );
});
