import { chmod, link, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { applyPlan } from '../../src/cli/folder/apply-plan.ts';
import { isInnerLink, markOf } from '../../src/cli/folder/local-tree.ts';
import { type SharedFolder, type Synced, syncFolder } from '../../src/cli/folder/sync-folder.ts';
import { createClient, type GeodeClient } from '../../src/client/client.ts';
import { unixTransport } from '../../src/client/unix-transport.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { patience, type SandboxHome, sandboxHome } from './sandbox-home.ts';

const { bubblewrap } = inject('engines');
const skipped = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;

describe.skipIf(!bubblewrap.available)(
  `a folder and the copy that an agent works on${skipped}`,
  patience,
  () => {
    let home: SandboxHome;
    let client: GeodeClient;
    let number = 0;

    beforeAll(async () => {
      home = await sandboxHome({ GEODE_RUNTIME_NAME: 'bubblewrap', GEODE_SANDBOX_LINGER: '600' });
      await home.ok(['sandbox', 'create', 'first']);
      client = createClient(unixTransport((await home.host()).serves?.api ?? ''));
    }, patience.timeout);
    afterAll(() => home?.[Symbol.asyncDispose](), patience.timeout);

    async function project(files: Readonly<Record<string, string>>) {
      number += 1;
      const folder = join(home.folder, `project-${number}`);
      const chat = `copy-${number}`;
      for (const [path, content] of Object.entries(files)) {
        await mkdir(join(folder, path, '..'), { recursive: true });
        await writeFile(join(folder, path), content);
      }
      await client.sandboxes.getOrCreate(chat);
      const { id } = await client.sandboxes.inspect(chat);
      const shared: SharedFolder = {
        folder,
        sandboxId: id,
        recordFile: join(home.folder, `record-${number}.json`),
        umask: 0o022,
      };
      const sync = (): Promise<Synced> => syncFolder(client.sandboxes.of(chat), shared);
      await sync();
      const read = (path: string) => readFile(join(folder, path), 'utf8').catch(({ code }) => code);
      const inside = (script: string) => home.ok(['sandbox', 'exec', chat, '--', 'sh', '-c', script]);
      return { folder, sync, read, inside };
    }

    it('does not copy back a folder replaced by a link that leads outside; copies everything else', async () => {
      const { folder, sync, read, inside } = await project({
        'lib/a.txt': 'a\n',
        'lib/b.txt': 'b\n',
        'c.txt': 'c\n',
      });
      await inside('rm -r lib; ln -s /etc lib; echo new > c.txt; echo d > d.txt');
      const out = await sync();
      expect(out.left).toEqual([{ path: 'lib', why: 'is now a link to /etc' }]);
      expect(out.brought.map(({ path, how }) => `${how} ${path}`).toSorted()).toEqual([
        'written c.txt',
        'written d.txt',
      ]);
      expect(await Promise.all(['lib/a.txt', 'lib/b.txt', 'c.txt', 'd.txt'].map(read))).toEqual([
        'a\n',
        'b\n',
        'new\n',
        'd\n',
      ]);

      // A change below it cannot go in, and is not lost: it goes in once there is a folder again.
      await writeFile(join(folder, 'lib/a.txt'), 'changed here\n');
      expect(await sync()).toMatchObject({ left: [{ path: 'lib' }], brought: [], sent: 0 });
      await inside('rm lib; mkdir lib; echo b > lib/b.txt');
      await sync();
      expect(await read('lib/a.txt')).toBe('changed here\n');
      expect(await inside('cat lib/a.txt lib/b.txt')).toBe('changed here\nb\n');
    });

    it.each([
      ['../../..', 'x'],
      ['x/../private.txt', 'l'],
      ['d/../../up', 'l'],
      ['/etc/passwd', 'l'],
    ])('a link to %s is not brought back', async (target, name) => {
      const { folder, sync, inside } = await project({ 'a.txt': 'a\n' });
      await inside(`ln -s ${target} ${name}; echo new > a.txt`);
      expect(await sync()).toMatchObject({
        left: [{ path: name, why: `is now a link to ${target}` }],
        brought: [{ path: 'a.txt', how: 'written' }],
      });
      expect(await readdir(folder)).toEqual(['a.txt']);
    });

    it('treats a link through another link to the outside as leading out; copies back a link that stays inside', async () => {
      const { folder, sync, read, inside } = await project({ 'd/a.txt': 'a\n' });
      await symlink('/etc', join(folder, 'outside'));
      await inside('ln -s outside/passwd stolen; ln -s d/a.txt fine; ln -s ../d/a.txt d/also');
      const { left, brought } = await sync();
      expect(left).toEqual([{ path: 'stolen', why: 'is now a link to outside/passwd' }]);
      expect(brought.map(({ path }) => path).toSorted()).toEqual(['d/also', 'fine']);
      expect(await read('d/also')).toBe('a\n');
    });

    it('replaces a file with a hard link outside of the folder; the outside file keeps its content', async () => {
      const { folder, sync, read, inside } = await project({ 'one.txt': 'one\n', 'two.txt': 'two\n' });
      const other = [join(home.folder, `other-${number}`), join(home.folder, `another-${number}`)] as const;
      await link(join(folder, 'one.txt'), other[0]);
      await link(join(folder, 'two.txt'), other[1]);
      await inside('echo agent > one.txt; chmod 755 two.txt; echo h > h1; ln h1 h2');
      const { left } = await sync();
      // Other names of a file of the sandbox may be anywhere in it.
      expect(left.map(({ path }) => path).toSorted()).toEqual(['h1', 'h2']);
      expect(left[0]?.why).toContain('hard links');
      expect(await Promise.all(['one.txt', 'two.txt'].map(read))).toEqual(['agent\n', 'two\n']);
      expect(await readFile(other[0], 'utf8')).toBe('one\n');
      expect((await stat(other[1])).mode & 0o111).toBe(0);
      expect((await stat(join(folder, 'two.txt'))).mode & 0o111).not.toBe(0);
    });

    it('copies back a file replaced by a folder, and a folder replaced by a file', async () => {
      const { sync, read, inside } = await project({ file: 'f\n', 'folder/a.txt': 'a\n' });
      await inside('rm -r file folder; mkdir file; echo in > file/in.txt; echo now > folder');
      expect((await sync()).left).toEqual([]);
      expect(await Promise.all(['file/in.txt', 'folder'].map(read))).toEqual(['in\n', 'now\n']);
    });
  },
);

it('undoes all steps when one step fails', async () => {
  using own = temporaryFolder();
  const [folder, staging] = [join(own.path, 'folder'), join(own.path, 'staging')];
  await mkdir(join(folder, 'd'), { recursive: true });
  await mkdir(staging);
  for (const [path, content] of [
    ['folder/a', 'a'],
    ['folder/d/gone', 'gone'],
    ['staging/0', 'new'],
    ['staging/1', 'x'],
  ] as const)
    await writeFile(join(own.path, path), content);
  const was = new Map<string, string>();
  for (const path of ['a', 'd/gone']) was.set(path, (await markOf(join(folder, path))) ?? '');
  await chmod(join(folder, 'd'), 0o700);
  const staged = [
    { path: 'a', partial: join(staging, '0') },
    { path: 'e/f', partial: join(staging, '1') },
    { path: 'never', partial: join(staging, 'missing') },
  ];
  await expect(applyPlan(folder, staging, { removals: ['d/gone'], staged, was })).rejects.toThrow('ENOENT');
  expect((await readdir(folder, { recursive: true })).toSorted()).toEqual(['a', 'd', 'd/gone']);
  expect(await readFile(join(folder, 'a'), 'utf8')).toBe('a');
  expect((await stat(join(folder, 'd'))).mode & 0o777).toBe(0o700);
  await rm(staging, { recursive: true });
});

it.each([
  ['a', 'b', true],
  ['d/a', '../b', true],
  ['d/a', '../../b', false],
  ['a', '..', false],
  ['a', 'x/../b', false],
  ['a', './b', true],
  ['a', '/b', false],
  ['a', '', false],
  ['d/a', '..', true],
  ['a', 'x/..', false],
])('a link at %s to %s: inner is %s', (path, target, isInner) => {
  expect(isInnerLink(path, target)).toBe(isInner);
});
