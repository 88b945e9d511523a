import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Mount } from '../../src/core/sandbox.ts';
import { checkMounts } from '../../src/runtimes/mounts.ts';

describe('mounts', () => {
  let root = '';
  const server = createServer();
  beforeAll(async () => {
    root = await realpath(await mkdtemp(join(tmpdir(), 'geode-mounts-')));
    for (const folder of ['home/.ssh', 'home/.aws', 'home/project', 'open', 'elsewhere'])
      await mkdir(join(root, folder), { recursive: true });
    await writeFile(join(root, 'home/project/file'), 'x');
    await symlink(join(root, 'home/.ssh'), join(root, 'home/project/link'));
    await symlink(join(root, 'elsewhere'), join(root, 'open/out'));
    await new Promise<void>((resolve) => server.listen(join(root, 'home/project/socket'), resolve));
  });
  afterAll(async () => {
    server.close();
    await rm(root, { recursive: true, force: true });
  });
  const check = (mount: Partial<Mount> & { source: string }) =>
    checkMounts([{ target: '/data', ...mount }], {
      roots: [join(root, 'home'), join(root, 'open'), '/etc', '/'],
      writableRoots: [join(root, 'open')],
      homes: [join(root, 'home')],
    });
  const refused = (mount: Partial<Mount> & { source: string }) =>
    expect(check(mount)).rejects.toMatchObject({ code: 'mount_refused' });

  it('RT-8: gives the real path, read-only by default', async () => {
    expect(await check({ source: join(root, 'home/./project') })).toEqual([
      { source: join(root, 'home/project'), target: '/data', writable: false },
    ]);
    expect(await check({ source: join(root, 'open'), writable: true })).toMatchObject([{ writable: true }]);
  });

  it.for(['/', '/etc', '/proc', '/sys', '/dev', '/dev/null', '/var/run', '/run', '/boot'])(
    'RT-8: refuses %s even below an allowed root',
    (source) => refused({ source }),
  );

  it.for([
    'home/.ssh',
    'home/.aws',
    'home',
    'home/project/link',
    'home/project/socket',
    'open/out',
    'elsewhere',
    'home/missing',
  ])('RT-8: refuses %s', (source) => refused({ source: join(root, source) }));

  it('RT-8: refuses a writable mount outside of the writable roots', () =>
    refused({ source: join(root, 'home/project'), writable: true }));

  it.for([
    '/',
    '/workspace',
    '/workspace/sub',
    '/.geode/link',
    '/proc',
    '/dev/x',
    'relative',
    '/data/../workspace',
  ])('RT-8: refuses the target %s', (target) => refused({ source: join(root, 'home/project'), target }));
});
