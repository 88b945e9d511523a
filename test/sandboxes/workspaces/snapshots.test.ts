import { spawn } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { forkWorkspace } from '../../../src/sandboxes/snapshots/fork-workspace.ts';
import { defaultSnapshotPolicy, snapshotsOf } from '../../../src/sandboxes/snapshots/snapshots-of.ts';
import type { Snapshots } from '../../../src/seams/snapshots.ts';
import { all, newPlace, shell, type TestPlace, told, treeOf } from './place.ts';

let place: TestPlace;
let snapshots: Snapshots;
beforeEach(() => {
  place = newPlace();
  snapshots = snapshotsOf(place);
});
afterEach(() => place[Symbol.dispose]());

const inWorkspace = (script: string) => shell(place.workspace, script);

/** One entry of every type that a workspace can have. */
const everything = `
  mkdir -p src/deep/er empty; chmod 0750 src; chmod 1777 empty
  echo one > src/a; printf two > src/deep/b; : > src/deep/er/nothing
  head -c 3000000 /dev/urandom > large; head -c 70000 /dev/urandom > middle
  ln -s src/a link; ln -s /etc/passwd out; ln -s nowhere dangling; ln src/a again
  chmod 0640 large; chmod 0755 src/deep/b; touch -d '2001-02-03 04:05:06.789' src/a; touch -h -d 1999-01-01 link
  touch -d '2400-01-01' middle; touch -d '1950-01-01' src/deep/b; touch -d 2010-01-01 empty src/deep`;

describe('SBX-7: a snapshot', () => {
  it('restores files, folders, links, modes, owners and times exactly', async () => {
    inWorkspace(everything);
    const before = treeOf(place.workspace);
    const taken = await snapshots.take({ name: 'first' });
    expect(taken).toMatchObject({ name: 'first', kind: 'kept', files: 6, folders: 4, links: 3 });
    inWorkspace(`
      rm -r src/deep; echo more >> src/a; rm link; ln -s elsewhere link; chmod 0777 large; mkdir new; echo x > new/x
      rm middle; mkdir middle; echo y > middle/y; rmdir empty; echo file > empty`);
    expect(treeOf(place.workspace)).not.toEqual(before);
    await snapshots.restore('first');
    expect(treeOf(place.workspace)).toEqual(before);
    expect(statSync(join(place.workspace, 'again')).ino).toBe(statSync(join(place.workspace, 'src/a')).ino);
    expect(await snapshots.restore('first')).toEqual({ written: 0, removed: 0, changed: 0, left: 0 });
  });

  it('stays unchanged when files of the workspace change, also in place', async () => {
    inWorkspace('echo before > file; head -c 2000000 /dev/zero > large');
    await snapshots.take({ name: 'a' });
    inWorkspace('echo after! > file; printf x | dd of=large conv=notrunc status=none');
    await snapshots.take({ name: 'b' });
    await snapshots.restore('a');
    expect(inWorkspace('cat file; tr -d "\\0" < large')).toBe('before\n');
    await snapshots.restore('b');
    expect(inWorkspace('cat file; tr -d "\\0" < large')).toBe('after!\nx');
  });

  it('sees a change that keeps size and time, at once', async () => {
    inWorkspace('echo aaaa > file; touch -d 2020-01-01 file');
    await snapshots.take({ name: 'a' });
    inWorkspace('echo bbbb > file; touch -d 2020-01-01 file');
    await snapshots.take({ name: 'b' });
    expect(await told(snapshots.diff('a', { to: 'b' }))).toEqual(['modified file']);
  });

  it('includes writes of a process through mapped memory', async () => {
    inWorkspace('head -c 8192 /dev/zero > mapped');
    const program = `
import mmap, sys
file = open("mapped", "r+b"); memory = mmap.mmap(file.fileno(), 8192)
memory[0] = 1
print("one", flush=True); sys.stdin.readline()
memory[1] = 2
print("two", flush=True); sys.stdin.readline()`;
    const python = spawn('python3', ['-c', program], {
      cwd: place.workspace,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const word = () => new Promise<void>((resolve) => python.stdout.once('data', () => resolve()));
    await word();
    await snapshots.take({ name: 'one' });
    const next = word();
    python.stdin.write('\n');
    await next;
    await snapshots.take({ name: 'two' });
    expect(await told(snapshots.diff('one', { to: 'two' }))).toEqual(['modified mapped']);
    python.stdin.end();
    await new Promise((resolve) => python.once('exit', resolve));
  });

  it('shares unchanged content with the earlier snapshot', async () => {
    inWorkspace(
      'for i in $(seq 300); do head -c 10000 /dev/urandom > $i; done; head -c 5000000 /dev/urandom > big',
    );
    const first = await snapshots.take();
    inWorkspace('echo changed > 7; rm 8; touch 9 big');
    const second = await snapshots.take();
    expect(first).toMatchObject({ name: '1', addedBytes: 8_000_000 });
    expect(second).toMatchObject({ name: '2', addedBytes: 8 });
    const { diskBytes } = await snapshots.list();
    expect(diskBytes).toBeLessThan(8_200_000);
  });
});

describe('SBX-7: a diff', () => {
  it('lists the differences between two snapshots and the workspace, sorted', async () => {
    inWorkspace(
      'mkdir d; echo same > same; echo a > d/changed; echo b > removed; echo c > mode; echo d > type; ln -s x l',
    );
    await snapshots.take({ name: 'a' });
    expect(await all(snapshots.diff('a'))).toEqual([]);
    inWorkspace(`
      touch same; echo aa > d/changed; rm removed; chmod 0600 mode; rm type; mkdir type; echo z > type/inner; ln -sfn y l
      echo new > d/added`);
    const expected = [
      'added d/added',
      'modified d/changed',
      'modified l',
      'mode mode',
      'removed removed',
      'type type',
      'added type/inner',
    ];
    expect(await told(snapshots.diff('a'))).toEqual(expected);
    await snapshots.take({ name: 'b' });
    expect(await told(snapshots.diff('a', { to: 'b' }))).toEqual(expected);
    expect(await all(snapshots.diff('a', { to: 'b' }))).toContainEqual({
      path: 'd/changed',
      change: 'modified',
      before: { type: 'file', size: 2, mode: 0o644 },
      after: { type: 'file', size: 3, mode: 0o644 },
    });
    expect(await told(snapshots.diff('b', { to: 'a' }))).toContain('removed type/inner');
  });

  it('can be stopped in the middle, and the next call works', async () => {
    inWorkspace(': > first');
    await snapshots.take({ name: 'a' });
    inWorkspace('for i in $(seq 4000); do : > $i; done');
    for await (const { change } of snapshots.diff('a')) {
      expect(change).toBe('added');
      break;
    }
    expect(await all(snapshots.diff('a'))).toHaveLength(4_000);
  });

  it('of one file is a unified text diff', async () => {
    inWorkspace('seq 20 > numbers; echo gone > gone; head -c 100 /dev/zero > binary');
    await snapshots.take({ name: 'a' });
    inWorkspace('sed -i s/^10$/ten/ numbers; rm gone');
    const text = await snapshots.textDiff('numbers', 'a');
    expect(text).toContain('--- a/numbers\n+++ b/numbers\n');
    expect(text).toContain('\n-10\n+ten\n');
    expect(await snapshots.textDiff('gone', 'a')).toContain('+++ /dev/null');
    await expect(snapshots.textDiff('binary', 'a')).rejects.toMatchObject({ code: 'not_a_file' });
    await expect(snapshots.textDiff('never', 'a')).rejects.toMatchObject({ code: 'file_not_found' });
    for (const path of ['../snapshots/lock', '/etc/passwd', 'a//b', '']) {
      await expect(snapshots.textDiff(path, 'a')).rejects.toMatchObject({ code: 'invalid_path' });
    }
  });
});

describe('SBX-7: names, limits and removal', () => {
  it.each([
    '../out',
    'a/b',
    '',
    '.',
    '..',
    '.hidden',
    '-rf',
    'ü',
    'a b',
    'line\nbreak',
    'nul\0',
    '\u202e',
    'x'.repeat(65),
    'y'.repeat(4096),
    '17',
    'undo',
  ])('refuses the name %j', async (name) => {
    await expect(snapshots.take({ name })).rejects.toMatchObject({ code: 'invalid_input' });
  });

  it('refuses a missing name, a used name and too many snapshots', async () => {
    snapshots = snapshotsOf(place, { ...defaultSnapshotPolicy, most: 3 });
    await expect(snapshots.restore('none')).rejects.toMatchObject({
      code: 'snapshot_not_found',
      status: 404,
    });
    await expect(all(snapshots.diff('none'))).rejects.toMatchObject({ code: 'snapshot_not_found' });
    await expect(snapshots.undo()).rejects.toMatchObject({ code: 'snapshot_not_found' });
    expect(await snapshots.remove('none')).toBe(false);
    await snapshots.take({ name: 'a' });
    await expect(snapshots.take({ name: 'a' })).rejects.toMatchObject({ code: 'snapshot_exists' });
    await snapshots.take();
    await snapshots.take();
    await snapshots.take();
    const names = async () => (await snapshots.list()).snapshots.map(({ name }) => name);
    expect(await names()).toEqual(['a', '3', '4']);
    await snapshots.take({ name: 'b' });
    await snapshots.take({ name: 'c' });
    await expect(snapshots.take({ name: 'd' })).rejects.toMatchObject({ code: 'snapshot_limit' });
    await expect(snapshots.take()).rejects.toMatchObject({ code: 'snapshot_limit' });
    expect(await snapshots.remove('b')).toBe(true);
    expect((await snapshots.take()).name).toMatch(/^\d+$/);
  });

  it('removing a snapshot frees only content that no other snapshot uses', async () => {
    inWorkspace(
      'for i in $(seq 100); do head -c 20000 /dev/urandom > $i; done; head -c 4000000 /dev/urandom > big',
    );
    await snapshots.take({ name: 'all' });
    inWorkspace('rm big; for i in $(seq 50); do echo $i > $i; done');
    const before = treeOf(place.workspace);
    await snapshots.take({ name: 'half' });
    await snapshots.remove('all');
    const { diskBytes } = await snapshots.list();
    expect(diskBytes).toBeLessThan(1_500_000);
    inWorkspace('rm -r *');
    await snapshots.restore('half');
    expect(treeOf(place.workspace)).toEqual(before);
    await snapshots.take({ name: 'again' });
    await snapshots.remove('half');
    inWorkspace('rm -r *');
    await snapshots.restore('again');
    expect(treeOf(place.workspace)).toEqual(before);
  });

  it('refuses a snapshot above its size limit with disk_full', async () => {
    snapshots = snapshotsOf(place, { ...defaultSnapshotPolicy, mostBytes: 1_000_000 });
    inWorkspace('head -c 2000000 /dev/urandom > big');
    await expect(snapshots.take()).rejects.toMatchObject({ code: 'disk_full' });
    expect((await snapshots.list()).diskBytes).toBe(0);
  });
});

describe('SBX-7: undo', () => {
  it('undoes the last commands one by one', async () => {
    inWorkspace('echo one > file');
    await snapshots.mark();
    inWorkspace('echo two > file; echo new > other');
    await snapshots.mark();
    inWorkspace('rm -rf *');
    expect(await told(snapshots.diff('undo'))).toEqual(['removed file', 'removed other']);
    await snapshots.undo();
    expect(inWorkspace('cat *')).toBe('two\nnew\n');
    await snapshots.undo();
    expect(inWorkspace('cat *')).toBe('one\n');
    await expect(snapshots.undo()).rejects.toMatchObject({ code: 'snapshot_not_found' });
  });

  it('keeps a limited number of points and frees the space of older ones', async () => {
    snapshots = snapshotsOf(place, { ...defaultSnapshotPolicy, mostUndo: 3 });
    for (let round = 0; round < 40; round += 1) {
      writeFileSync(join(place.workspace, 'file'), Buffer.alloc(500_000, round));
      await snapshots.mark();
    }
    const { snapshots: left, diskBytes } = await snapshots.list();
    expect(left.map(({ name }) => name)).toEqual(['38', '39', '40']);
    expect(diskBytes).toBeLessThan(20 * 500_000);
    await snapshots.take({ name: 'kept' });
    await snapshots.remove('kept');
    expect((await snapshots.list()).diskBytes).toBeLessThan(4 * 500_000);
    await snapshots.undo();
    await snapshots.undo();
    expect(readFileSync(join(place.workspace, 'file'))[0]).toBe(38);
  });
});

describe('SBX-7: a fork', () => {
  it('starts as a copy of the workspace or of a snapshot, and shares nothing', async () => {
    inWorkspace(everything);
    const then = treeOf(place.workspace);
    await snapshots.take({ name: 'then' });
    inWorkspace('echo now > now');
    const now = treeOf(place.workspace);
    using first = newPlace();
    using second = newPlace();
    await forkWorkspace(place, first);
    await forkWorkspace(place, second, { snapshot: 'then' });
    expect(treeOf(first.workspace)).toEqual(now);
    expect(treeOf(second.workspace)).toEqual(then);
    shell(first.workspace, 'echo changed >> src/a; printf x | dd of=large conv=notrunc status=none');
    expect(treeOf(place.workspace)).toEqual(now);
    await expect(forkWorkspace(place, first)).rejects.toMatchObject({ code: 'file_exists' });
    expect(await told(snapshots.diff('then'))).toEqual(['added now']);
  });
});
