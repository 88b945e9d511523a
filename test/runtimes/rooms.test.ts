import { existsSync } from 'node:fs';
import { chmod, mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { bubblewrapRuntime } from '../../src/runtimes/bubblewrap/bubblewrap.ts';
import { nativeRuntime } from '../../src/runtimes/native/native.ts';
import { roomOf } from '../../src/runtimes/rooms.ts';
import { type Harness, openHarness, testOptions } from '../contracts/harness.ts';

const { bubblewrap } = inject('engines');

describe('rooms', () => {
  let harness: Harness;
  beforeEach(async () => {
    harness = await openHarness(nativeRuntime);
  });
  afterEach(() => harness.close());

  it('of two simultaneous opens with one id, one succeeds and the other changes nothing', async () => {
    const outcomes = await Promise.allSettled([harness.open({ id: 'same' }), harness.open({ id: 'same' })]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const lost = outcomes.find(({ status }) => status === 'rejected');
    expect(lost).toMatchObject({ reason: { code: 'invalid_input' } });
    const again = outcomes.find((outcome) => outcome.status === 'fulfilled');
    expect((await again?.value.exec({ argv: ['echo', 'fine'] }))?.stdout).toBe('fine\n');
  });

  it('GL-7: refuses to adopt a sandbox that a host holds', async () => {
    const sandbox = await harness.open();
    await expect(harness.runtime.adopt(sandbox.id)).rejects.toMatchObject({ code: 'sandbox_held' });
    expect((await sandbox.exec({ argv: ['echo', 'mine'] })).stdout).toBe('mine\n');
    await sandbox.release();
    const mine = await harness.runtime.adopt(sandbox.id);
    expect((await mine.exec({ argv: ['echo', 'mine'] })).stdout).toBe('mine\n');
    await mine.stop();
  });

  it('GL-7: adopt waits until a dying host releases the sandbox', async () => {
    const sandbox = await harness.open();
    const [mine] = await Promise.all([
      harness.runtime.adopt(sandbox.id),
      delay(100).then(() => sandbox.release()),
    ]);
    expect((await mine.exec({ argv: ['echo', 'mine'] })).stdout).toBe('mine\n');
    await mine.stop();
  });

  it('a stray folder or a damaged record does not affect other sandboxes, and can be removed', async () => {
    const sandbox = await harness.open();
    await mkdir(join(harness.options.stateDir, 'sandboxes', 'Not An Id'));
    const torn = roomOf(harness.options, 'torn');
    await mkdir(torn.folder);
    await writeFile(join(torn.folder, 'record.json'), '{"id": "to');
    expect((await harness.runtime.list()).map(({ id }) => id)).toEqual([sandbox.id]);
    await harness.runtime.remove('torn');
    expect(existsSync(torn.folder)).toBe(false);
  });

  it('a sandbox with an unreadable record is kept, not removed', async () => {
    const sandbox = await harness.open();
    const record = join(roomOf(harness.options, sandbox.id).folder, 'record.json');
    await rename(record, `${record}.aside`);
    await symlink(record, record);
    const unreadable = { code: 'ELOOP' };
    await expect(harness.runtime.list()).rejects.toMatchObject(unreadable);
    await expect(harness.runtime.traces()).rejects.toMatchObject(unreadable);
    await expect(harness.runtime.adopt(sandbox.id)).rejects.toMatchObject(unreadable);
    await expect(harness.runtime.remove(sandbox.id)).rejects.toMatchObject(unreadable);
    await rename(`${record}.aside`, record);
    expect((await sandbox.exec({ argv: ['echo', 'unharmed'] })).stdout).toBe('unharmed\n');
  });

  it('SEC-1: a run folder that others may write to is refused', async () => {
    await using options = await testOptions();
    await mkdir(options.runDir, { recursive: true });
    await chmod(options.runDir, 0o777);
    await expect(nativeRuntime(options).open({})).rejects.toMatchObject({
      code: 'invalid_config',
      hint: expect.stringContaining('0700'),
    });
  });

  it.skipIf(!bubblewrap.available)('a strict umask does not lock the sandbox out', async () => {
    await using options = await testOptions();
    const before = process.umask(0o077);
    try {
      await using sandbox = await bubblewrapRuntime(options).open({});
      expect((await sandbox.exec({ argv: ['id', '-un'] })).stdout).toBe('sandbox\n');
    } finally {
      process.umask(before);
    }
  });

  it.skipIf(!bubblewrap.available)(
    'RT-6: bubblewrap has a filter, no capability to gain, and no namespaces to make',
    async () => {
      await using options = await testOptions();
      await using sandbox = await bubblewrapRuntime(options).open({});
      const { stdout } = await sandbox.exec({ argv: ['cat', '/proc/self/status'] });
      expect(stdout).toMatch(/Seccomp:\s+2/);
      expect(stdout).toMatch(/CapBnd:\s+0+\n/);
      expect((await sandbox.exec({ argv: ['unshare', '-Ur', 'true'] })).exitCode).not.toBe(0);
    },
  );
});
