/** Files of a host are only for its own user, with any umask and any permission of the folder. */
import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';
import { hostWorld } from './world.ts';

/** Every file below, but what sandboxes wrote into their workspaces. */
async function openToOthers(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.includes('/workspace/') && (statSync(path).mode & 0o077) !== 0)
    .map((path) => relative(folder, path));
}

test('no file of a host can be read by other users', { timeout: 60_000 }, async () => {
  using open = temporaryFolder();
  mkdirSync(join(open.path, 'shared'));
  chmodSync(join(open.path, 'shared'), 0o755);
  const memory = join(open.path, 'shared/memory.db');
  const keys = join(open.path, 'shared/keys.db');
  // As an older version left it.
  writeFileSync(memory, '', { mode: 0o644 });
  await using world = hostWorld({ GEODE_MEMORY_FILE: memory, GEODE_GATEWAY_KEYS_FILE: keys });
  const { host } = await world.open();
  await host.memory.in('ann').store({ content: 'a note', category: 'core', source: 'test' });
  const sandbox = await host.sandboxes.of('ann').getOrCreate('chat');
  await sandbox.exec({ argv: ['echo', 'journal'] });
  await sandbox.snapshots?.take({ name: 'kept' });
  await host.app.egress.secrets.set('ann', 'github', 'a-secret-value');
  expect(await openToOthers(world.folder)).toEqual([]);
  expect(await openToOthers(open.path)).toEqual([]);
  expect((await readdir(join(open.path, 'shared'))).sort()).toEqual(
    expect.arrayContaining(['keys.db', 'memory.db', 'memory.db-wal']),
  );
});
