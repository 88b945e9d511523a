import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { forkWorkspace } from '../../../src/sandboxes/snapshots/fork-workspace.ts';
import { snapshotsOf } from '../../../src/sandboxes/snapshots/snapshots-of.ts';
import type { Snapshots } from '../../../src/seams/snapshots.ts';
import { eventually, fixture } from '../../contracts/harness.ts';
import { eachOf } from '../../each-of.ts';
import { all, newPlace, root, shell, type TestPlace, told, treeOf } from './place.ts';

let place: TestPlace;
let snapshots: Snapshots;
beforeEach(() => {
  place = newPlace();
  snapshots = snapshotsOf(place);
});
afterEach(() => place[Symbol.dispose]());

const inWorkspace = (script: string) => shell(place.workspace, script);

/** Files that the sandbox must never reach through Geode. */
function secretFolder(): string {
  const outside = join(place.above, 'outside');
  mkdirSync(join(outside, 'most'), { recursive: true });
  writeFileSync(join(outside, 'secret'), 'the-hosts-own-words');
  writeFileSync(join(outside, 'most', 'secret'), 'the-hosts-own-words');
  return outside;
}

const packs = () => readdirSync(join(place.folder, 'packs')).map((name) => join(place.folder, 'packs', name));

describe('FS-3: SBX-7: hostile links', () => {
  it('are kept as links; no operation follows them', async () => {
    const outside = secretFolder();
    inWorkspace(
      `ln -s ${outside} folder; ln -s ${outside}/secret file; ln -s /proc/self/root root; mkdir d; echo x > d/x`,
    );
    const before = treeOf(place.workspace);
    const outsideBefore = treeOf(outside);
    await snapshots.take({ name: 'a' });
    inWorkspace(`rm -r d; ln -s ${outside} d; rm folder; mkdir folder; echo y > folder/secret`);
    await expect(snapshots.textDiff('file', 'a')).rejects.toMatchObject({ code: 'not_a_file' });
    await expect(snapshots.textDiff('d/secret', 'a')).rejects.toMatchObject({ code: 'not_a_file' });
    await snapshots.restore('a');
    expect(treeOf(place.workspace)).toEqual(before);
    using other = newPlace();
    await forkWorkspace(place, other);
    expect(treeOf(other.workspace)).toEqual(before);
    expect(treeOf(outside)).toEqual(outsideBefore);
    for (const pack of eachOf(packs()))
      expect(readFileSync(pack, 'latin1')).not.toContain('the-hosts-own-words');
  });

  it('swapped in during reads, writes and removals are never followed outside', {
    timeout: 240_000,
  }, async () => {
    const outside = secretFolder();
    const outsideBefore = treeOf(outside);
    const racer = spawn('python3', [fixture('swap-links.py'), place.workspace, outside], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const words = createInterface({ input: racer.stdout })[Symbol.asyncIterator]();
    expect((await words.next()).value).toBe('ready');
    const begun = performance.now();
    const passed = () => performance.now() - begun;
    let restored = 0;
    await snapshots.take({ name: 'start' });
    // On a slow machine every one of the first may be refused.
    while (passed() < 6_000 || (restored === 0 && passed() < 120_000)) {
      const { name } = await snapshots.take();
      await told(snapshots.diff('start'));
      // It may be refused because the workspace keeps changing; what counts is what it does not do.
      for (const from of ['start', name]) {
        await snapshots.restore(from).then(
          () => {
            restored += 1;
          },
          (error) =>
            expect(error).toMatchObject({
              code: expect.stringMatching(/workspace_busy|file_not_found|file_exists/),
            }),
        );
      }
      using other = newPlace();
      await forkWorkspace(place, other);
    }
    racer.stdin.end('\n');
    const rounds = Number((await words.next()).value);
    expect(rounds).toBeGreaterThan(20);
    expect(restored).toBeGreaterThan(0);
    expect(treeOf(outside)).toEqual(outsideBefore);
    for (const pack of eachOf(packs()))
      expect(readFileSync(pack, 'latin1')).not.toContain('the-hosts-own-words');
    await snapshots.restore('start');
    expect(await all(snapshots.diff('start'))).toEqual([]);
  });
});

describe('SBX-7: strange entries', () => {
  it('pipes and sockets are not stored; a restore keeps old ones and removes new ones', async () => {
    inWorkspace(
      'mkfifo pipe; python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\'socket\')"; echo x > x',
    );
    const taken = await snapshots.take({ name: 'a' });
    expect(taken).toMatchObject({ files: 1, leftOut: { special: 2, unreadable: 0 } });
    inWorkspace('mkfifo new; rm x');
    expect(await snapshots.restore('a')).toMatchObject({ written: 1, removed: 1, left: 0 });
    expect(inWorkspace('ls')).toBe('pipe\nsocket\nx\n');
    inWorkspace('rm pipe');
    expect(await snapshots.restore('a')).toMatchObject({ written: 0, removed: 0, left: 1 });
  });

  it('keeps file names with any bytes', async () => {
    inWorkspace(`printf x > $'line\\nbreak'; printf y > $'\\xff\\xfe'; printf z > ' -> "quoted" '; mkdir $'\\x80'; printf '' > $'\\xe2\\x80\\xa8'; printf '\\n' > $'\\x80/\\t'
      name=$(printf 'n%.0s' $(seq 255)); printf long > $name`);
    const before = treeOf(place.workspace);
    await snapshots.take({ name: 'a' });
    inWorkspace('rm -r *');
    const changes = await all(snapshots.diff('a'));
    expect(changes).toContainEqual(expect.objectContaining({ path: 'line\nbreak', change: 'removed' }));
    expect(changes).toContainEqual(
      expect.objectContaining({ path: '\ufffd', pathBase64: Buffer.from([0xff, 0xfe]).toString('base64') }),
    );
    await snapshots.restore('a');
    expect(treeOf(place.workspace)).toEqual(before);
  });

  it('trees deeper than a path can be long are kept, removed and brought back', async () => {
    const depth = 700;
    const dig = `python3 -c "
import os
for _ in range(${depth}):
    os.mkdir('folder'); os.chdir('folder')
open('bottom', 'w').write('deep')"`;
    inWorkspace(dig);
    const taken = await snapshots.take({ name: 'a' });
    expect(taken).toMatchObject({ folders: depth, files: 1 });
    inWorkspace('rm -rf folder');
    await snapshots.restore('a');
    expect(await all(snapshots.diff('a'))).toEqual([]);
    inWorkspace('rm -rf folder');
    await snapshots.take({ name: 'flat' });
    inWorkspace(dig);
    await snapshots.restore('flat');
    expect(inWorkspace('ls -A')).toBe('');
  });

  it('a file with holes keeps them, and a huge one costs nothing', async () => {
    inWorkspace(
      'truncate -s 1T huge; printf end | dd of=huge bs=1 seek=900000000000 conv=notrunc status=none; truncate -s 200k small',
    );
    const taken = await snapshots.take({ name: 'a' });
    expect(taken.addedBytes).toBeLessThan(100_000);
    inWorkspace('rm huge small');
    await snapshots.restore('a');
    const { size, blocks } = statSync(join(place.workspace, 'huge'));
    expect({ size, small: blocks < 100 }).toEqual({ size: 2 ** 40, small: true });
    expect(inWorkspace('dd if=huge bs=1 skip=900000000000 count=3 status=none')).toBe('end');
    expect(statSync(join(place.workspace, 'small')).blocks).toBeLessThan(100);
    expect(await all(snapshots.diff('a'))).toEqual([]);
  });

  it('a file that grows while it is read is kept with its first size', async () => {
    // Up to a size: a test that is held up must not fill the disk.
    const writer = spawn('bash', ['-c', 'ulimit -f 1000000; exec cat /dev/zero > growing'], {
      cwd: place.workspace,
      stdio: 'ignore',
    });
    const growing = join(place.workspace, 'growing');
    await eventually(
      async () => (statSync(growing, { throwIfNoEntry: false })?.size ?? 0) > 1e6,
      'the file to grow',
    );
    const ended = once(writer, 'exit');
    await snapshots.take({ name: 'a' });
    writer.kill('SIGKILL');
    await ended;
    const then = statSync(join(place.workspace, 'growing')).size;
    await snapshots.restore('a');
    const kept = statSync(join(place.workspace, 'growing')).size;
    expect(kept).toBeLessThanOrEqual(then);
    expect(kept).toBeGreaterThan(0);
    expect(await all(snapshots.diff('a'))).toEqual([]);
  });

  it('a file that also has a name outside of the workspace is never written through', async () => {
    inWorkspace('echo inside > file; chmod 0644 file');
    await snapshots.take({ name: 'a' });
    inWorkspace('rm file; echo outside > ../elsewhere; chmod 0600 ../elsewhere; ln ../elsewhere file');
    await snapshots.restore('a');
    expect(inWorkspace('cat file ../elsewhere; stat -c %a file ../elsewhere')).toBe(
      'inside\noutside\n644\n600\n',
    );
    inWorkspace('echo inside > ../elsewhere; rm file; ln ../elsewhere file');
    await snapshots.restore('a');
    expect(inWorkspace('stat -c %a file ../elsewhere')).toBe('644\n600\n');
  });
});

describe('SBX-7: files that the host may not read', () => {
  /** The program as a user that is not root, also when the tests are. */
  function asAnotherUser(): TestPlace {
    if (!root) return place;
    const own = join(place.above, 'guest');
    const wrapper = join(place.above, 'as-user');
    copyFileSync(place.program, own);
    writeFileSync(
      wrapper,
      `#!/bin/sh\nexec /usr/bin/setpriv --reuid 61001 --regid 61001 --clear-groups ${own} "$@"\n`,
    );
    for (const path of [own, wrapper, place.above]) chmodSync(path, 0o755);
    chmodSync(tmpdir(), statSync(tmpdir()).mode | 0o011);
    for (const path of [place.above, place.workspace]) chownSync(path, 61001, 61001);
    return { ...place, program: wrapper };
  }

  const asUser = (script: string) =>
    root
      ? shell(
          place.workspace,
          `setpriv --reuid 61001 --regid 61001 --clear-groups bash -euc ${JSON.stringify(script)}`,
        )
      : inWorkspace(script);

  it('are left out and reported, are not changed by a restore, and folders without rights are restored', async () => {
    snapshots = snapshotsOf(asAnotherUser());
    asUser(
      `echo a > open; echo b > shut; chmod 0 shut; mkdir dark; echo c > dark/c; chmod 0 dark; mkdir still; echo d > still/d; chmod 0500 still`,
    );
    const taken = await snapshots.take({ name: 'a' });
    expect(taken).toMatchObject({ files: 2, leftOut: { unreadable: 2 } });
    asUser(
      'chmod 0700 still; echo changed > still/d; echo new > still/new; chmod 0500 still; rm open; mkdir more; echo e > more/e; chmod 0 more',
    );
    await snapshots.restore('a');
    expect(shell(place.workspace, 'ls -A; stat -c %a shut dark still; cat still/*')).toBe(
      'dark\nopen\nshut\nstill\n0\n0\n500\nd\n',
    );
    expect(await all(snapshots.diff('a'))).toEqual([]);
  });
});
