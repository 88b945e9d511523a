import { mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pack } from 'tar-stream';
import { beforeAll, describe, expect, it } from 'vitest';
import type { WatchEvent } from '../../src/seams/files.ts';
import type { Sandbox } from '../../src/seams/sandbox.ts';
import { eventually, type Harness } from './harness.ts';

const namesFromHell = [
  'with space',
  'new\nline',
  '"quoted" \'twice\'',
  'a -> b',
  '-rf',
  '$(id)',
  '*?[x]',
  'ünïcödé-漢字-🪨',
  '\\back\\slash',
  'tab\tcr\r',
  '.hidden',
  '%2e%2e',
  'a&b=c?d#e+f',
  'x'.repeat(255),
];

/** FS-1, FS-2, FS-3, SH-4: the files of a sandbox. */
export function filesContract(harness: () => Harness): void {
  describe('files', () => {
    let sandbox: Sandbox;
    beforeAll(async () => {
      sandbox = await harness().open();
    });

    it.for(namesFromHell)('FS-2: the name %j works in every call', async (name) => {
      const { files } = sandbox;
      const folder = `hell/${namesFromHell.indexOf(name)}`;
      const path = `${folder}/${name}`;
      await files.write(path, 'content');
      expect(await files.readText(path)).toBe('content');
      expect(await files.stat(path)).toMatchObject({ name, type: 'file', size: 7 });
      expect((await files.list(folder)).entries.map((entry) => entry.name)).toEqual([name]);
      expect((await sandbox.exec({ argv: ['cat', '--', path] })).stdout).toBe('content');
      await files.move(path, `${folder}/moved`);
      await files.copy(`${folder}/moved`, path);
      expect(await files.exists(path)).toBe(true);
      expect(await files.remove(path)).toBe(true);
      expect(await files.exists(path)).toBe(false);
    });

    it('FS-1: writes in one step, keeps the mode, makes parents', async () => {
      const { files } = sandbox;
      await files.write('deep/er/script.sh', '#!/bin/sh\necho one', { mode: 0o750 });
      await files.write('deep/er/script.sh', '#!/bin/sh\necho two');
      expect(((await files.stat('deep/er/script.sh')).mode & 0o777).toString(8)).toBe('750');
      expect((await sandbox.exec({ argv: ['./deep/er/script.sh'] })).stdout).toBe('two\n');
      await expect(files.write('deep/er/script.sh', 'x', { exclusive: true })).rejects.toMatchObject({
        code: 'file_exists',
      });
      expect((await files.list('deep/er')).entries).toHaveLength(1);
    });

    it('FS-1: a write that is cut off leaves the old file and nothing else', async () => {
      const { files } = sandbox;
      await files.write('cut/file', 'old');
      const broken = async function* () {
        yield Buffer.from('new and half');
        throw new Error('the source broke');
      };
      await expect(files.write('cut/file', broken())).rejects.toThrow();
      await eventually(
        async () => (await files.list('cut')).entries.length === 1,
        'the temporary file to go',
      );
      expect(await files.readText('cut/file')).toBe('old');
    });

    it('FS-1: empty files, appends and ranges', async () => {
      const { files } = sandbox;
      await files.write('empty', '');
      expect(await files.readText('empty')).toBe('');
      await files.append('log', 'one');
      await files.append('log', 'two');
      expect(await files.readText('log')).toBe('onetwo');
      expect(await files.readText('log', { offset: 2, length: 3 })).toBe('etw');
      expect(await files.readText('log', { offset: 100 })).toBe('');
    });

    it('FS-1: writes and reads back 80 MB completely', async () => {
      const chunk = Buffer.alloc(1024 * 1024, 'geode');
      const content = async function* () {
        for (let index = 0; index < 80; index += 1) yield chunk;
      };
      expect((await sandbox.files.write('large', content())).size).toBe(80 * chunk.length);
      let length = 0;
      for await (const piece of sandbox.files.stream('large')) {
        expect(
          Buffer.from(piece.subarray(0, 16)).equals(chunk.subarray(length % chunk.length).subarray(0, 16)) ||
            piece.length < 16 ||
            (length % chunk.length) + 16 > chunk.length,
        ).toBe(true);
        length += piece.length;
      }
      expect(length).toBe(80 * chunk.length);
      await expect(sandbox.files.read('large')).rejects.toMatchObject({ code: 'too_large' });
      await sandbox.files.remove('large');
    });

    it('FS-2: stat is correct for links, modes and times', async () => {
      await sandbox.exec({
        argv: [
          '/bin/sh',
          '-c',
          'mkdir facts; cd facts; echo x > file; ln -s file link; ln -s nowhere dangling; mkfifo pipe; chmod 4751 file; touch -d @1000000000 file',
        ],
      });
      const facts = Object.fromEntries(
        (await sandbox.files.list('facts')).entries.map((entry) => [entry.name, entry]),
      );
      expect(facts.file).toMatchObject({ type: 'file', size: 2, mtimeMs: 1_000_000_000_000 });
      expect((facts.file?.mode ?? 0) & 0o7777).toBe(0o4751);
      expect(facts.link).toMatchObject({ type: 'symlink', target: 'file' });
      expect(facts.dangling).toMatchObject({ type: 'symlink', target: 'nowhere' });
      expect(facts.pipe).toMatchObject({ type: 'pipe' });
      expect(await sandbox.files.stat('facts/link', { follow: true })).toMatchObject({
        type: 'file',
        size: 2,
      });
      await expect(sandbox.files.readText('facts/pipe')).rejects.toMatchObject({ code: 'not_a_file' });
      await expect(sandbox.files.readText('facts')).rejects.toMatchObject({ code: 'not_a_file' });
      await expect(sandbox.files.readText('facts/missing')).rejects.toMatchObject({ code: 'file_not_found' });
    });

    it('FS-1: lists to a depth, in order, and marks a truncated list', async () => {
      for (const path of ['tree/a/b/c.txt', 'tree/a/d.txt', 'tree/e.txt'])
        await sandbox.files.write(path, path);
      const names = async (depth: number) =>
        (await sandbox.files.list('tree', { depth })).entries.map(({ path }) =>
          path.replace(/^.*tree\//, ''),
        );
      expect(await names(1)).toEqual(['a', 'e.txt']);
      expect(await names(9)).toEqual(['a', 'a/b', 'a/b/c.txt', 'a/d.txt', 'e.txt']);
      expect(await sandbox.files.list('tree', { depth: 9, limit: 2 })).toMatchObject({ truncated: true });
    });

    it('FS-1: makes, moves, copies, changes modes and removes', async () => {
      const { files } = sandbox;
      await files.mkdir('ops/a/b');
      await files.mkdir('ops/a/b');
      await files.write('ops/a/b/f', 'x');
      await files.copy('ops/a', 'ops/copy');
      expect(await files.readText('ops/copy/b/f')).toBe('x');
      await expect(files.copy('ops/a', 'ops/copy')).rejects.toMatchObject({ code: 'file_exists' });
      await files.move('ops/copy', 'ops/moved');
      expect(await files.exists('ops/copy')).toBe(false);
      await files.chmod('ops/moved/b/f', 0o600);
      expect((await files.stat('ops/moved/b/f')).mode & 0o777).toBe(0o600);
      expect(await files.remove('ops')).toBe(true);
      expect(await files.remove('ops')).toBe(false);
      for (const path of ['', '/', '.', '..', sandbox.workdir]) {
        await expect(files.remove(path), path).rejects.toMatchObject({ code: 'invalid_path' });
      }
    });

    it('FS-1: searches names, greps content and replaces', async () => {
      const { files } = sandbox;
      await files.write('src/one.ts', 'const a = 1;\nconst b = a;\n');
      await files.write('src/deep/two.ts', 'const a = 2;\n');
      await files.write('src/three.md', 'const a\n');
      await files.write('src/binary', Buffer.from([0, 1, 2, 99, 111, 110, 115, 116]));
      const found = await files.search('src', '**/*.ts');
      expect(found.entries.map(({ name }) => name).sort()).toEqual(['one.ts', 'two.ts']);
      const { matches } = await files.grep('src', 'const a', { include: '*.ts' });
      expect(matches.map(({ line, column, text }) => ({ line, column, text }))).toEqual([
        { line: 1, column: 1, text: 'const a = 2;' },
        { line: 1, column: 1, text: 'const a = 1;' },
      ]);
      expect((await files.grep('src', 'A = \\d', { regex: true, ignoreCase: true })).matches).toHaveLength(2);
      await expect(files.replace('src/one.ts', 'a', 'z', { expect: 1 })).rejects.toMatchObject({
        code: 'invalid_input',
      });
      expect(await files.readText('src/one.ts')).toContain('const a');
      expect(await files.replace('src/one.ts', 'const', 'let')).toBe(2);
      expect(await files.readText('src/one.ts')).toBe('let a = 1;\nlet b = a;\n');
    });

    it('FS-1: watches changes', async () => {
      const { files } = sandbox;
      await files.mkdir('watched/sub');
      const seen: WatchEvent[] = [];
      const stop = new AbortController();
      const watching = (async () => {
        for await (const event of files.watch('watched', { recursive: true, signal: stop.signal }))
          seen.push(event);
      })().catch(() => {});
      await eventually(async () => {
        await files.write('watched/sub/file', 'x');
        return seen.some(({ path }) => path.endsWith('sub/file'));
      }, 'the change');
      await files.remove('watched/sub/file');
      await eventually(
        async () => seen.some(({ type, path }) => type === 'remove' && path.endsWith('sub/file')),
        'the removal',
      );
      stop.abort();
      await watching;
    });

    it.for(['../escape', 'a/../../escape', '/etc/passwd', 'link/passwd', 'absolute', 'chain'])(
      'SH-4 FS-3: %j does not leave the workspace',
      async (path) => {
        await sandbox.exec({
          argv: [
            '/bin/sh',
            '-c',
            'ln -sfn /etc link; ln -sfn /etc/passwd absolute; ln -sfn link/passwd chain; mkdir -p a',
          ],
        });
        const { files } = sandbox;
        for (const attempt of [
          () => files.readText(path),
          () => files.write(path, 'x'),
          () => files.append(path, 'x'),
          () => files.chmod(path, 0o777),
        ]) {
          await expect(attempt()).rejects.toMatchObject({
            code: expect.stringMatching(/^(invalid_path|file_refused|file_not_found)$/),
          });
        }
      },
    );

    it('SH-4: a copied link stays a link, and is not followed', async () => {
      await sandbox.exec({ argv: ['/bin/sh', '-c', 'ln -sfn /etc/passwd absolute'] });
      await sandbox.files.copy('absolute', 'copied-link');
      expect(await sandbox.files.stat('copied-link')).toMatchObject({
        type: 'symlink',
        target: '/etc/passwd',
      });
      await expect(sandbox.files.readText('copied-link')).rejects.toMatchObject({ code: 'invalid_path' });
    });

    it('SH-4: a file with a second name is not read or appended to', async () => {
      await sandbox.exec({ argv: ['/bin/sh', '-c', 'echo secret > one-name; ln one-name two-names'] });
      await expect(sandbox.files.readText('two-names')).rejects.toMatchObject({ code: 'file_refused' });
      await expect(sandbox.files.append('two-names', 'x')).rejects.toMatchObject({ code: 'file_refused' });
      expect(await sandbox.rootFiles.readText('two-names')).toBe('secret\n');
    });

    it('FS-1: the owner reads all that the sandbox may read', async () => {
      expect(await sandbox.rootFiles.readText('/etc/passwd')).toContain('root');
      await expect(sandbox.rootFiles.readText('a\0b')).rejects.toMatchObject({ code: 'invalid_path' });
      await expect(sandbox.rootFiles.remove('/')).rejects.toMatchObject({ code: 'invalid_path' });
    });

    it('FS-1: a folder is the same after upload and download', async () => {
      const home = await mkdtemp(join(tmpdir(), 'geode-folder-'));
      try {
        await mkdir(join(home, 'up/sub'), { recursive: true });
        await writeFile(join(home, 'up/sub/file\n1'), 'one', { mode: 0o640 });
        await writeFile(join(home, 'up/empty'), '');
        await symlink('sub/file\n1', join(home, 'up/link'));
        await sandbox.files.upload(join(home, 'up'), 'folder');
        expect(await sandbox.files.readText('folder/sub/file\n1')).toBe('one');
        await sandbox.files.download('folder', join(home, 'down'));
        expect((await readdir(join(home, 'down'), { recursive: true })).sort()).toEqual([
          'empty',
          'link',
          'sub',
          'sub/file\n1',
        ]);
        expect(await readFile(join(home, 'down/sub/file\n1'), 'utf8')).toBe('one');
        expect(await readlink(join(home, 'down/link'))).toBe('sub/file\n1');
      } finally {
        await rm(home, { recursive: true, force: true });
      }
    });

    it('FS-3: a download whose links point outside is refused, and nothing is written', async () => {
      const home = await mkdtemp(join(tmpdir(), 'geode-folder-'));
      try {
        await sandbox.exec({
          argv: ['/bin/sh', '-c', 'mkdir -p trap; echo fine > trap/file; ln -sfn /etc/passwd trap/out'],
        });
        await expect(sandbox.files.download('trap', join(home, 'down'))).rejects.toMatchObject({
          code: 'archive_refused',
        });
        expect(await readdir(home)).toEqual([]);
      } finally {
        await rm(home, { recursive: true, force: true });
      }
    });

    it.for([
      ['an absolute path', { name: '/tmp/out' }],
      ['a path with ..', { name: 'in/../../out' }],
      ['a link to outside', { name: 'out', type: 'symlink' as const, linkname: '../../out' }],
      ['an absolute link', { name: 'out', type: 'symlink' as const, linkname: '/etc' }],
      ['a hard link', { name: 'out', type: 'link' as const, linkname: 'fine' }],
      ['a device', { name: 'out', type: 'character-device' as const, devmajor: 1, devminor: 3 }],
    ] as const)('FS-3: an archive with %s is refused whole', async ([, bad]) => {
      const tar = pack();
      tar.entry({ name: 'fine' }, 'fine');
      tar.entry({ ...bad }, '');
      tar.entry({ name: 'after' }, 'after');
      tar.finalize();
      await sandbox.files.remove('unpacked');
      await expect(sandbox.files.extract('unpacked', tar as AsyncIterable<Uint8Array>)).rejects.toMatchObject(
        { code: 'archive_refused' },
      );
      const left = (await sandbox.files.list('.')).entries.filter(
        ({ name }) => name.includes('unpacked') || name.startsWith('.geode'),
      );
      expect(left).toEqual([]);
    });

    it('FS-3: a torn archive leaves nothing', async () => {
      const torn = async function* () {
        yield Buffer.alloc(700, 'not a tar');
      };
      await sandbox.files.remove('torn');
      await expect(sandbox.files.extract('torn', torn())).rejects.toMatchObject({ code: 'archive_refused' });
      expect(await sandbox.files.exists('torn')).toBe(false);
    });
  });
}
