import { chmod, chown, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkMounts } from '../../src/runtimes/mounts.ts';
import { replaceablePart } from '../../src/runtimes/replaceable-path.ts';
import type { Mount } from '../../src/seams/sandbox.ts';

describe('mounts', () => {
  let root = '';
  const server = createServer();
  beforeAll(async () => {
    root = await realpath(await mkdtemp(join(tmpdir(), 'geode-mounts-')));
    for (const folder of [
      ...['home/.ssh', 'home/.aws', 'home/.gnupg', 'home/.kube', 'home/.docker', 'home/.config/gcloud'],
      ...['home/project', 'open', 'open/.gnupg/private-keys-v1.d', 'elsewhere'],
    ])
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
    'home/.gnupg',
    'home/.kube',
    'home/.docker',
    'home/.config',
    'open/.gnupg/private-keys-v1.d',
    'home',
    'home/project/link',
    'home/project/socket',
    'open/out',
    'elsewhere',
    'home/missing',
  ])('RT-8: refuses %s', (source) => refused({ source: join(root, source) }));

  it("RT-8: refuses an engine's socket in any folder, and every folder that contains it", async () => {
    const folder = join(root, 'open/engine');
    await mkdir(folder);
    const engine = createServer();
    await new Promise<void>((resolve) => engine.listen(join(folder, 'docker.sock'), resolve));
    try {
      await expect(check({ source: join(folder, 'docker.sock') })).rejects.toMatchObject({
        code: 'mount_refused',
        message: expect.stringContaining('a socket or a device'),
      });
    } finally {
      engine.close();
    }
    for (const source of ['/run', '/var/run']) {
      await expect(check({ source })).rejects.toMatchObject({
        message: expect.stringContaining('which is forbidden'),
      });
    }
  });

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
    '//.geode',
    '/x/../.geode/link',
    '/etc',
    '/etc/passwd',
    '/usr/bin',
    '/bin/',
    '/sbin',
    '/lib64/x',
    '/tmp',
    '/tmp/x',
    '/var',
    '/var/tmp',
  ])('RT-8: refuses the target %s', (target) => refused({ source: join(root, 'home/project'), target }));

  describe('secrets that are reachable by other paths', () => {
    let world = '';
    const at = (path: string) => join(world, path);
    beforeAll(async () => {
      world = join(root, 'world');
      for (const folder of [
        'real/u/.ssh',
        'real/u/.local/state/geode/sandboxes/one',
        'real/u/project',
        'real/v/.ssh',
        'real/v/.kube/cache',
        'real/v/project',
        'keys/deep',
        'config',
        'elsewhere/state',
      ])
        await mkdir(at(folder), { recursive: true });
      await writeFile(at('keys.db'), 'hashes');
      await symlink(at('real'), at('home'));
      await symlink(at('keys'), at('real/u/.aws'));
      await symlink(at('elsewhere/state'), at('state'));
    });
    const policy = () => ({
      roots: [world, '/var'],
      writableRoots: [],
      homes: [at('home/u')],
      own: [at('home/u/.local/state/geode'), at('state'), at('config'), at('keys.db')],
    });
    const mounting = (source: string) => checkMounts([{ source, target: '/data' }], policy());

    it.for([
      ['~/.ssh, where HOME is behind a link', 'home/u/.ssh'],
      ['~/.ssh by its real path', 'real/u/.ssh'],
      ['the whole home', 'home/u'],
      ['the parent of all homes', 'real'],
      ['what ~/.aws leads to', 'keys'],
      ['a part of what ~/.aws leads to', 'keys/deep'],
      ["another user's .ssh", 'real/v/.ssh'],
      ["a part of another user's .kube", 'real/v/.kube/cache'],
      ["another user's whole home", 'real/v'],
      ['the records of sandboxes', 'real/u/.local/state/geode/sandboxes/one'],
      ['the folder with the records', 'real/u/.local'],
      ['a state folder behind a link', 'elsewhere/state'],
      ['the parent of the state folder, through a link', 'elsewhere'],
      ['the config', 'config'],
      ['the file of keys', 'keys.db'],
    ] as const)('RT-8: refuses %s', async ([, source]) => {
      await expect(mounting(at(source))).rejects.toMatchObject({ code: 'mount_refused' });
    });

    it.for(['/var', '/var/lib'])("RT-8: refuses %s, which shows the engine's own folder", async (source) => {
      await expect(mounting(source)).rejects.toMatchObject({
        code: 'mount_refused',
        message: expect.stringMatching(/contains it/),
      });
    });

    it('RT-8: still allows folders beside them', async () => {
      expect(await mounting(at('home/u/project'))).toMatchObject([{ source: at('real/u/project') }]);
      expect(await mounting(at('real/v/project'))).toHaveLength(1);
    });
  });

  describe('paths that somebody else could swap after the check', () => {
    const stranger = 61_001;
    let place = '';
    beforeAll(async () => {
      place = join(root, 'steady');
      await mkdir(place);
    });
    /** `folder/source`, where the folder and what is in it have these owners and modes. */
    const build = async (name: string, mode: number, owner: number, sourceOwner = 0, sourceMode = 0o755) => {
      const folder = join(place, name);
      const source = join(folder, 'between/source');
      await mkdir(source, { recursive: true });
      await chown(join(folder, 'between'), sourceOwner, sourceOwner);
      await chmod(source, sourceMode);
      await chown(source, sourceOwner, sourceOwner);
      await chown(folder, owner, owner);
      await chmod(folder, mode);
      return { folder, between: join(folder, 'between'), source };
    };
    const mounting = (source: string, uid = 0) =>
      checkMounts([{ source, target: '/data' }], { roots: [place], writableRoots: [], homes: [] }, uid);
    const refusedFor = async (source: string, folder: string, uid?: number) =>
      expect(mounting(source, uid)).rejects.toMatchObject({
        code: 'mount_refused',
        message: expect.stringContaining(`others may write to ${folder} `),
      });

    it.for([
      ['others may write to', 0o757],
      ['a group may write to', 0o775],
    ] as const)('RT-8: refuses what lies below a folder that %s', async ([name, mode]) => {
      const { folder, source, between } = await build(name, mode, 0);
      await refusedFor(source, folder);
      await refusedFor(between, folder);
      expect(await mounting(folder)).toHaveLength(1);
    });

    it('RT-8: refuses paths below a folder of another user, with any mode', async () => {
      const { folder, source } = await build('owned', 0o700, stranger);
      await refusedFor(source, folder);
      await refusedFor(source, folder, 1000);
      await refusedFor(await build('mine', 0o755, 1000).then((made) => made.source), join(place, 'mine'));
    });

    it("RT-8: allows paths below this user's folders, and a source that all users may write", async () => {
      const { source } = await build('own', 0o755, 1000, 1000, 0o777);
      expect(await mounting(source, 1000)).toHaveLength(1);
      const shared = await build('shared', 0o755, 0, 0, 0o777);
      await chown(shared.source, stranger, stranger);
      expect(await mounting(shared.source)).toHaveLength(1);
    });

    it('RT-8: in a sticky folder, refuses only entries that another user owns', async () => {
      expect(await mounting((await build('sticky', 0o1777, 0)).between)).toHaveLength(1);
      const { folder, between } = await build('sticky-theirs', 0o1777, 0, stranger);
      await refusedFor(between, folder);
    });

    it('RT-8: refuses a root that other users can replace', async () => {
      const { folder, source } = await build('above', 0o777, 0);
      await expect(
        checkMounts([{ source, target: '/data' }], { roots: [source], writableRoots: [], homes: [] }, 0),
      ).rejects.toMatchObject({ message: expect.stringContaining(folder) });
    });

    it('RT-8: follows a link of any owner to a steady place', async () => {
      const { source } = await build('real-place', 0o755, 0);
      const { between } = await build('loose', 0o777, stranger);
      await symlink(source, join(between, 'link'));
      expect(await mounting(join(between, 'link'))).toMatchObject([{ source }]);
    });

    it('RT-8: a link in the path itself is not steady', async () => {
      const { folder, source } = await build('with-link', 0o755, 0);
      await symlink('between', join(folder, 'alias'));
      expect(await replaceablePart(join(folder, 'alias/source'), 0)).toBe(join(folder, 'alias'));
      expect(await replaceablePart(source, 0)).toBeUndefined();
    });
  });
});
