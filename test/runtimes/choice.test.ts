import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { allRuntimes, availableRuntimes, chooseRuntime } from '../../src/runtimes/index.ts';
import { availableOf, testOptions } from '../contracts/harness.ts';

const { bubblewrap } = inject('engines');
const strict = { allowFallbackToNative: false, warn: () => {} };

describe('choosing a runtime', () => {
  it('RT-3: lists each runtime with its grade, or the reason why it is unavailable', async () => {
    await using options = await testOptions();
    const probed = await availableRuntimes(allRuntimes(options));
    expect(probed.map(({ runtime }) => runtime.name)).toEqual(['apple', 'docker', 'bubblewrap', 'native']);
    expect(probed[1]?.found).toMatchObject({
      available: false,
      reason: expect.stringContaining('no engine listens'),
      fix: expect.any(String),
    });
    expect(probed[3]?.found).toMatchObject({ available: true, grade: 'none' });
  });

  it('RT-3: a probe of an engine that never answers ends', async () => {
    await using options = await testOptions();
    const socket = join(options.folder, 'mute.sock');
    const server = createServer(() => {});
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    const runtimes = allRuntimes({ ...options, docker: { ...options.docker, host: `unix://${socket}` } });
    const docker = runtimes.find(({ name }) => name === 'docker');
    expect(await docker?.probe()).toMatchObject({
      available: false,
      reason: expect.stringContaining('did not finish'),
    });
    server.close();
  });

  it('RT-4: refuses a requested runtime that is unavailable, with its reason', async () => {
    await using options = await testOptions();
    const runtimes = allRuntimes(options);
    await expect(chooseRuntime(runtimes, { name: 'docker', ...strict })).rejects.toMatchObject({
      code: 'runtime_unavailable',
      message: expect.stringContaining('no engine listens'),
    });
  });

  it('RT-4: without an isolating runtime, lists every reason and does not choose native', async () => {
    await using options = await testOptions();
    const runtimes = allRuntimes({ ...options, path: '/nowhere' });
    const choosing = chooseRuntime(runtimes, { name: 'auto', ...strict });
    await expect(choosing).rejects.toThrow(/apple: .*; docker: .*; bubblewrap: /);
  });

  it('RT-4: falls back to native only when allowed, with a warning', async () => {
    await using options = await testOptions();
    const said: string[] = [];
    const runtimes = allRuntimes({ ...options, path: '/nowhere' });
    const chosen = await chooseRuntime(runtimes, {
      name: 'auto',
      allowFallbackToNative: true,
      warn: (message) => said.push(message),
    });
    expect(chosen.name).toBe('native');
    expect(said.join()).toContain('No isolation');
  });

  it.skipIf(!bubblewrap.available)('RT-4: auto chooses the strongest available runtime', async () => {
    await using options = await testOptions();
    const runtimes = allRuntimes(options);
    for (const runtime of runtimes) if (runtime.name === 'bubblewrap') await availableOf(runtime);
    expect((await chooseRuntime(runtimes, { name: 'auto', ...strict })).name).toBe('bubblewrap');
  });
});
