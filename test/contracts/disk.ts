import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { homeOf } from '../../src/runtimes/home.ts';
import { roomOf } from '../../src/runtimes/rooms.ts';
import { defaultLimits } from '../../src/seams/limits.ts';
import type { Sandbox } from '../../src/seams/sandbox.ts';
import { loopDevices, mounts } from '../engine/leftovers.ts';
import { eventually, fixtureText, type Harness } from './harness.ts';

const diskBytes = 64 * 1024 ** 2;

/** SBX-8: a workspace with a size, whatever is tried to get around it. */
export function diskContract(harness: () => Harness): void {
  describe('disk', () => {
    const roomFor = ({ id }: Pick<Sandbox, 'id'>) => roomOf(harness().options, id);
    const mounted = () => mounts(harness().options.stateDir);
    const open = () => harness().open({ limits: { diskBytes } });
    const allocated = (sandbox: Sandbox) => statSync(join(roomFor(sandbox).folder, 'disk.img')).blocks * 512;
    const fill = async (sandbox: Sandbox, how: string) => {
      const { stdout, stderr } = await sandbox.exec({
        argv: ['python3', '-', how],
        stdin: await fixtureText('fill-disk.py'),
      });
      if (stdout === '') throw new Error(stderr);
      return JSON.parse(stdout);
    };

    afterAll(async () => {
      const { stateDir } = harness().options;
      await eventually(
        async () => loopDevices(stateDir).length === mounted().length,
        'the end of loop devices',
      );
    });

    it('SBX-8: a disk limit is there by default where it can be enforced, and null lifts it', async () => {
      const { limits } = harness().capabilities;
      const usual = await harness().open();
      expect(usual.limits.diskBytes).toBe(limits.disk ? defaultLimits.diskBytes : null);
      expect((await usual.metrics()).disk !== null).toBe(limits.disk);
      await usual.stop();
      const free = await harness().open({ limits: { diskBytes: null } });
      expect((await free.metrics()).disk).toBeNull();
      expect(existsSync(join(roomFor(free).folder, 'disk.img'))).toBe(false);
      await free.stop();
    });

    it.for(['one file', 'small files', 'fallocate', 'sparse', 'links'])(
      'SBX-8: filling the workspace with %s gives ENOSPC inside; the host keeps its space, and the sandbox continues',
      async (how, { skip }) => {
        skip(!harness().capabilities.limits.disk, 'this runtime cannot limit the disk');
        const sandbox = await open();
        const { error, kept } = await fill(sandbox, how);
        expect(error).toBe('ENOSPC');
        // gVisor counts the holes of a file as blocks too.
        if (!(harness().isGvisor && how === 'sparse')) expect(kept).toBeLessThanOrEqual(diskBytes);
        expect(allocated(sandbox)).toBeLessThanOrEqual(diskBytes);
        await expect(sandbox.files.write('more', Buffer.alloc(diskBytes))).rejects.toMatchObject({
          code: 'disk_full',
        });
        await sandbox.exec({ argv: ['/bin/sh', '-c', 'rm -rf /workspace/*'] });
        await sandbox.files.write('after', 'fits');
        expect(await sandbox.files.readText('after')).toBe('fits');
        await sandbox.stop();
      },
    );

    it('SBX-8: the workspace is empty, belongs to its user, and allows no devices or setuid programs', async ({
      skip,
    }) => {
      skip(!harness().capabilities.limits.disk, 'this runtime cannot limit the disk');
      const sandbox = await open();
      expect((await sandbox.files.list('.')).entries).toEqual([]);
      const { stdout } = await sandbox.exec({
        argv: ['/bin/sh', '-c', 'grep " /workspace " /proc/self/mounts; stat -c "%u %a" /workspace; id -u'],
      });
      const [line = '', facts = '', uid = ''] = stdout.split('\n');
      // gVisor shows its own file system; its other half on the machine has the disk.
      if (!harness().isGvisor) {
        expect(line.split(' ')[2]).toBe('ext4');
        expect(line.split(' ')[3]?.split(',')).toEqual(expect.arrayContaining(['rw', 'nosuid', 'nodev']));
      }
      const mount = readFileSync('/proc/self/mounts', 'utf8')
        .split('\n')
        .map((each) => each.split(' '));
      const [, , type, options] = mount.find(([, place]) => place === roomFor(sandbox).workspace) ?? [];
      expect(type).toBe('ext4');
      expect(options?.split(',')).toEqual(expect.arrayContaining(['rw', 'nosuid', 'nodev']));
      expect(facts).toBe(`${uid} 700`);
      await sandbox.stop();
    });

    it('SBX-8 SBX-4: a halted sandbox has no mount and no device; restarted it has its files and its limit', async ({
      skip,
    }) => {
      skip(!harness().capabilities.limits.disk, 'this runtime cannot limit the disk');
      const { runtime, options } = harness();
      const sandbox = await open();
      await sandbox.files.write('kept', 'yes');
      await sandbox.halt();
      expect(mounted().filter((line) => line.includes(sandbox.id))).toEqual([]);
      const devices = () => loopDevices(options.stateDir).filter((line) => line.includes(sandbox.id));
      await eventually(async () => devices().length === 0, 'the end of the loop device');
      expect(readdirSync(roomFor(sandbox).workspace)).toEqual([]);

      const again = await runtime.start(sandbox.id);
      expect(await again.files.readText('kept')).toBe('yes');
      expect((await fill(again, 'one file')).error).toBe('ENOSPC');
      expect(await again.files.readText('kept')).toBe('yes');
      await again.stop();
      expect(existsSync(roomFor(sandbox).folder)).toBe(false);
      await eventually(async () => devices().length === 0, 'the end of the loop device');
    });

    it('SBX-8: halting an ended sandbox, also several times, frees its mount, loop device, run folder and groups', async () => {
      const { runtime, options } = harness();
      const sandbox = await harness().open({ leaseMs: 3_000 });
      await sandbox.files.write('kept', 'yes');
      await sandbox.release();
      const stateOf = async () => (await runtime.list()).find(({ id }) => id === sandbox.id)?.state;
      await eventually(async () => (await stateOf()) === 'stopped', 'the end of the lease');
      await Promise.all([runtime.halt(sandbox.id), runtime.halt(sandbox.id)]);
      await runtime.halt(sandbox.id);
      expect(mounted().filter((line) => line.includes(sandbox.id))).toEqual([]);
      const devices = () => loopDevices(options.stateDir).filter((line) => line.includes(sandbox.id));
      await eventually(async () => devices().length === 0, 'the end of the loop device');
      expect(existsSync(roomFor(sandbox).runFolder)).toBe(false);
      expect(groupsOf(options, sandbox.id)).toEqual([]);
      const again = await runtime.start(sandbox.id);
      expect(await again.files.readText('kept')).toBe('yes');
      await again.stop();
    });

    it('SBX-7: the host can read the workspace of a running and of a halted sandbox', async () => {
      const { runtime } = harness();
      const sandbox = await harness().open();
      await sandbox.files.write('seen', 'by the host');
      const seen = async () => {
        await using held = await runtime.workspaces?.hold(sandbox.id);
        return held === undefined ? undefined : readFileSync(join(held.workspace, 'seen'), 'utf8');
      };
      const wanted = runtime.workspaces === undefined ? undefined : 'by the host';
      expect(await seen()).toBe(wanted);
      expect(await sandbox.files.readText('seen')).toBe('by the host');
      expect(await seen()).toBe(wanted);
      await sandbox.halt();
      expect(await seen()).toBe(wanted);
      expect(mounted().filter((line) => line.includes(sandbox.id))).toEqual([]);
      const again = await runtime.start(sandbox.id);
      expect(await seen()).toBe(wanted);
      await again.stop();
      if (wanted !== undefined) await expect(seen()).rejects.toMatchObject({ code: 'sandbox_gone' });
    });

    it('SBX-8: a host that lost the mount mounts the same disk again, not a second one', async ({ skip }) => {
      skip(!harness().capabilities.limits.disk, 'this runtime cannot limit the disk');
      const { runtime, options } = harness();
      const sandbox = await open();
      const room = roomFor(sandbox);
      await sandbox.release();
      execFileSync('umount', ['--lazy', room.workspace]);
      const again = await runtime.adopt(sandbox.id);
      await again.files.write('from-inside', 'one');
      expect(readFileSync(join(room.workspace, 'from-inside'), 'utf8')).toBe('one');
      expect(loopDevices(options.stateDir).filter((line) => line.includes(sandbox.id))).toHaveLength(1);
      await again.stop();
    });

    it('SBX-8: read by the host while it fills up and while it is removed', async ({ skip }) => {
      skip(!harness().capabilities.limits.disk, 'this runtime cannot limit the disk');
      const { runtime, options } = harness();
      const sandbox = await open();
      await using held = await runtime.workspaces?.hold(sandbox.id);
      const filling = fill(sandbox, 'small files');
      const copy = join(options.stateDir, 'copy');
      const copied = () =>
        execFileSync('/bin/sh', [
          '-c',
          'rm -rf "$2"; cp -r "$1" "$2" 2>/dev/null || true',
          'sh',
          held?.workspace ?? '',
          copy,
        ]);
      copied();
      expect((await filling).error).toBe('ENOSPC');
      copied();
      expect(readdirSync(copy)).not.toEqual([]);
      execFileSync('rm', ['-rf', copy]);
      await sandbox.stop();
      expect(existsSync(roomFor(sandbox).folder)).toBe(false);
      expect(mounted().filter((line) => line.includes(sandbox.id))).toEqual([]);
    });

    it('SBX-8: removes the disk that a killed host left, and no other', async ({ skip }) => {
      skip(!harness().capabilities.limits.disk, 'this runtime cannot limit the disk');
      const { runtime } = harness();
      const sandbox = await open();
      const room = roomFor(sandbox);
      await sandbox.release();
      const bystander = await open();
      // As when it was killed before it knew, or could write down, what it had started.
      execFileSync('rm', [join(room.folder, 'record.json')]);
      expect(await runtime.traces()).toContain(sandbox.id);
      await runtime.remove(sandbox.id);
      expect(mounted().filter((line) => line.includes(sandbox.id))).toEqual([]);
      expect(existsSync(room.folder)).toBe(false);
      expect(await runtime.traces()).not.toContain(sandbox.id);
      expect((await bystander.exec({ argv: ['echo', 'unharmed'] })).stdout).toBe('unharmed\n');
      await bystander.stop();
    });
  });
}

/** The control groups of a sandbox, in either version. Others come and go beside them, so that nothing is walked. */
function groupsOf(options: Harness['options'], id: string): readonly string[] {
  const root = '/sys/fs/cgroup';
  const trees = existsSync(root) ? [root, ...readdirSync(root).map((name) => join(root, name))] : [];
  return trees.map((tree) => join(tree, `geode-${homeOf(options)}`, id)).filter((group) => existsSync(group));
}
