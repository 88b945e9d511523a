import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import { unixTransport } from '../../src/client/unix-transport.ts';
import { restoreBackup } from '../../src/host/backup/restore-backup.ts';
import { verifyBackup } from '../../src/host/backup/verify-backup.ts';
import { eventually } from '../contracts/harness.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { type HostWorld, hostWorld } from './world.ts';

const isRoot = process.getuid?.() === 0 && process.platform === 'linux';
const skipped = isRoot ? '' : ' (skipped: needs root to mount a small disk)';

/** A disk of 2 MB that is removed with the test. */
function smallDisk(path: string): Disposable {
  mkdirSync(path, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m,mode=700', 'tmpfs', path]);
  return { [Symbol.dispose]: () => execFileSync('umount', [path]) };
}

/** Leaves no byte free. */
function fill(path: string): void {
  const block = Buffer.alloc(4096);
  try {
    for (;;) writeFileSync(join(path, 'filler'), block, { flag: 'a' });
  } catch {}
}

const clientOf = async (world: HostWorld) => createClient(unixTransport((await world.open()).socket.path));

describe('the folder of backups', { timeout: 300_000 }, () => {
  it('gets a backup by schedule, and keeps the newest and those of people', async () => {
    await using world = hostWorld({ GEODE_BACKUP_EVERY: '1', GEODE_BACKUP_KEEP: '2' });
    const client = await clientOf(world);
    await client.backups.create({ name: 'mine' });
    const scheduled = async () =>
      (await client.backups.list()).map(({ name }) => name).filter((name) => name.startsWith('scheduled-'));
    const oldest = await eventually(async () => (await scheduled()).at(-1), 'a backup', 120_000);
    await eventually(
      async () => {
        const names = await scheduled();
        return names.length === 2 && !names.includes(oldest);
      },
      'the removal of the oldest',
      120_000,
    );
    expect((await client.backups.list()).map(({ name }) => name)).toContain('mine');
  });

  it.skipIf(!isRoot)(`on a full disk gets nothing, and the host goes on${skipped}`, async () => {
    using folder = temporaryFolder();
    using _disk = smallDisk(folder.path);
    await using world = hostWorld({ GEODE_BACKUP_FOLDER: folder.path });
    const client = await clientOf(world);
    await client.sandboxes.getOrCreate('demo');
    fill(folder.path);
    await expect(client.backups.create({ name: 'one' })).rejects.toMatchObject({ code: 'disk_full' });
    expect(readdirSync(folder.path)).toEqual(['filler']);
    expect((await client.sandboxes.of('demo').exec({ argv: ['echo', 'on'] })).stdout).toBe('on\n');
    rmSync(join(folder.path, 'filler'));
    expect((await client.backups.create({ name: 'one' })).name).toBe('one');
  });

  it.skipIf(!isRoot)(
    `on a full disk verifies and restores nothing, and keeps the backup${skipped}`,
    async () => {
      await using world = hostWorld();
      const client = await clientOf(world);
      await client.sandboxes.getOrCreate('demo');
      const { file } = await client.backups.create({ name: 'one' });
      using folder = temporaryFolder();
      const small = join(folder.path, 'small');
      using _disk = smallDisk(small);
      fill(small);
      const { machine } = world;
      await expect(verifyBackup({ file, folder: small, machine })).rejects.toThrow(/no space|full/i);
      expect(readdirSync(small)).toEqual(['filler']);
      const overrides = { ...machine.overrides, GEODE_SANDBOX_STATE_DIR: join(small, 'state') };
      const restoring = restoreBackup({ file, machine: { ...machine, overrides }, replace: false });
      await expect(restoring).rejects.toThrow(/no space|full|cannot be written/i);
      expect(readdirSync(small).filter((name) => name.includes('restoring'))).toEqual([]);
      expect((await client.backups.list()).map(({ name }) => name)).toEqual(['one']);
    },
  );
});
