import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { forkWorkspace } from '../../../src/sandboxes/snapshots/fork-workspace.ts';
import { defaultSnapshotPolicy, snapshotsOf } from '../../../src/sandboxes/snapshots/snapshots-of.ts';
import type { Snapshots } from '../../../src/seams/snapshots.ts';
import { all, newPlace, root, shell, type TestPlace, treeOf } from './place.ts';

let place: TestPlace;
let snapshots: Snapshots;
beforeEach(() => {
  place = newPlace();
  snapshots = snapshotsOf(place);
});
afterEach(() => place[Symbol.dispose]());

const inWorkspace = (script: string) => shell(place.workspace, script);
const packs = () => readdirSync(join(place.folder, 'packs'));

/** One job of the program, killed after some time; true when it was done before. */
async function killedAfter(ms: number, request: Readonly<Record<string, unknown>>): Promise<boolean> {
  const child = spawn(place.program, [], { stdio: ['pipe', 'pipe', 'ignore'] });
  child.stdin.on('error', () => {});
  child.stdin.write(`${JSON.stringify({ store: place.folder, workspace: place.workspace, ...request })}\n`);
  let said = '';
  child.stdout.on('data', (piece) => {
    said += piece;
  });
  const gone = once(child, 'close');
  await Promise.race([gone, delay(ms)]);
  child.kill('SIGKILL');
  await gone;
  return said.includes('"done":true');
}

/** The same numbers for the same seed: a failure can be had again. */
function numbersFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe('SBX-7: killed at any moment', () => {
  it('every snapshot is complete or absent, and no files are left over', { timeout: 180_000 }, async () => {
    const seed = Number(process.env.GEODE_SEED ?? Date.now() % 1_000_000);
    console.log(`GEODE_SEED=${seed}`);
    const number = numbersFrom(seed);
    inWorkspace(
      'mkdir a b; for i in $(seq 400); do head -c $((i * 20)) /dev/urandom > a/$i; done; head -c 3000000 /dev/urandom > big',
    );
    const trees = new Map<string, readonly string[]>();
    // The first job finishes. Its duration limits the delay of each kill, because jobs take longer on a slow machine.
    const begun = performance.now();
    await snapshots.take({ name: 'whole' });
    const longestMs = Math.max(40, performance.now() - begun);
    trees.set('whole', treeOf(place.workspace));
    const outcomes = { done: 0, killed: 0 };
    for (let round = 0; round < 40; round += 1) {
      const mark = Math.floor(number() * 400) + 1;
      inWorkspace(`echo ${round} > a/${mark}; head -c 30000 /dev/urandom > b/${round}; rm -f a/${Math.floor(number() * 400)}
        [ ${round % 5} != 0 ] || head -c 2000000 /dev/urandom > big`);
      const now = treeOf(place.workspace);
      const known = [...trees.keys()];
      const some = known[Math.floor(number() * known.length)];
      const draw = number();
      const verb = some === undefined || draw < 0.6 ? 'take' : draw < 0.85 ? 'restore' : 'remove';
      const name = verb === 'take' || some === undefined ? `r${round}` : some;
      const done = await killedAfter(number() * longestMs, {
        verb,
        kind: 'kept',
        name,
        most: 100,
        sync: false,
      });
      outcomes[done ? 'done' : 'killed'] += 1;

      const listed = (await snapshots.list()).snapshots.map((snapshot) => snapshot.name);
      if (verb === 'take' && listed.includes(name)) trees.set(name, now);
      if (verb === 'remove' && !listed.includes(name)) trees.delete(name);
      if (done) expect(listed.includes(name)).toBe(verb !== 'remove');
      expect(listed.toSorted()).toEqual([...trees.keys()].toSorted());
      if (verb === 'restore') {
        await snapshots.restore(name);
        expect(treeOf(place.workspace)).toEqual(trees.get(name));
      }
    }
    console.log(
      `${outcomes.done} jobs were done, ${outcomes.killed} were killed, ${trees.size} snapshots are left`,
    );
    for (const [name, tree] of trees) {
      await snapshots.restore(name);
      expect(treeOf(place.workspace)).toEqual(tree);
    }
    for (const name of trees.keys()) await snapshots.remove(name);
    expect(await snapshots.list()).toEqual({ snapshots: [], diskBytes: 0 });
    expect(packs()).toEqual([]);
    expect(readdirSync(join(place.folder, 'kept'))).toEqual([]);
    expect(readdirSync(place.folder).toSorted()).toEqual(['index', 'kept', 'lock', 'packs', 'turn', 'undo']);
  });
});

describe('SBX-7: a full disk', () => {
  it.skipIf(!root)(
    `is reported as disk_full and leaves no partial snapshot${root ? '' : ' (needs root to mount a small tmpfs)'}`,
    async () => {
      const disk = join(place.above, 'disk');
      mkdirSync(disk);
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', disk]);
      try {
        const onDisk = { ...place, folder: join(disk, 'snapshots') };
        snapshots = snapshotsOf(onDisk);
        inWorkspace('echo small > small; head -c 1500000 /dev/urandom > fits');
        const before = treeOf(place.workspace);
        await snapshots.take({ name: 'small' });
        const { diskBytes } = await snapshots.list();
        inWorkspace(
          'head -c 3000000 /dev/urandom > large; for i in $(seq 50); do head -c 20000 /dev/urandom > n$i; done',
        );
        for (const name of [undefined, 'named']) {
          await expect(snapshots.take({ name })).rejects.toMatchObject({ code: 'disk_full', status: 507 });
        }
        expect((await snapshots.list()).snapshots).toHaveLength(1);
        expect((await snapshots.list()).diskBytes).toBe(diskBytes);
        await snapshots.restore('small');
        expect(treeOf(place.workspace)).toEqual(before);

        const target = { workspace: join(disk, 'workspace'), owner: place.owner };
        mkdirSync(target.workspace);
        inWorkspace('head -c 3000000 /dev/urandom > large');
        await expect(forkWorkspace(place, target)).rejects.toMatchObject({ code: 'disk_full' });
        expect(readdirSync(target.workspace)).toEqual([]);
        expect(packs()).toEqual([]);

        // Also with a full workspace: removals make room for restored files.
        using inner = newPlace();
        const tight = snapshotsOf({ ...inner, workspace: target.workspace });
        shell(target.workspace, 'head -c 2000000 /dev/urandom > one');
        const one = treeOf(target.workspace);
        await tight.take({ name: 'one' });
        shell(target.workspace, 'rm one; head -c 10000000 /dev/zero > two || true');
        await tight.restore('one');
        expect(treeOf(target.workspace)).toEqual(one);
      } finally {
        execFileSync('umount', [disk]);
      }
    },
  );
});

describe('SBX-7: simultaneous calls', () => {
  it('calls take turns; another host gets workspace_busy', async () => {
    inWorkspace('for i in $(seq 500); do echo $i > $i; done');
    const names = await Promise.all(Array.from({ length: 6 }, async () => (await snapshots.take()).name));
    expect(names.toSorted()).toEqual(['1', '2', '3', '4', '5', '6']);
    const holder = spawn('flock', [join(place.folder, 'lock'), 'sh', '-c', 'echo held; cat'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    await once(holder.stdout, 'data');
    await expect(snapshots.take()).rejects.toMatchObject({ code: 'workspace_busy', status: 409 });
    expect((await snapshots.list()).snapshots).toHaveLength(6);
    holder.stdin.end();
    await once(holder, 'close');
    await snapshots.take();
  });

  it('a cancel ends the snapshot program and leaves no files', async () => {
    inWorkspace('for i in $(seq 300); do head -c 300000 /dev/zero > $i; done');
    const stop = new AbortController();
    const freeze = async () => {
      stop.abort();
      return { [Symbol.asyncDispose]: async () => {} };
    };
    await expect(snapshots.take({ signal: stop.signal, freeze })).rejects.toMatchObject({
      code: 'cancelled',
    });
    await expect(snapshots.take({ signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'cancelled',
    });
    expect(existsSync(join(place.folder, 'packs')) ? packs() : []).toEqual([]);
    expect(await snapshots.list()).toMatchObject({ snapshots: [] });
    const hasty = snapshotsOf(place, { ...defaultSnapshotPolicy, deadlineMs: 1 });
    await expect(hasty.take()).rejects.toMatchObject({ code: 'timed_out' });
  });

  it('freezes the sandbox for the second pass, and thaws it also after a failure', async () => {
    inWorkspace('echo one > file');
    const seen: string[] = [];
    const freeze = async () => {
      seen.push('frozen');
      writeFileSync(join(place.workspace, 'file'), 'the last word before it stood still');
      return { [Symbol.asyncDispose]: async () => void seen.push('thawed') };
    };
    await snapshots.take({ name: 'a', freeze });
    expect(seen).toEqual(['frozen', 'thawed']);
    expect(await all(snapshots.diff('a'))).toEqual([]);
    const refused = snapshots.take({ name: 'b', freeze: () => Promise.reject(new Error('no freezer')) });
    await expect(refused).rejects.toThrow('no freezer');
    const stop = new AbortController();
    const stopped = snapshots.take({
      signal: stop.signal,
      freeze: async () => {
        stop.abort();
        return freeze();
      },
    });
    await expect(stopped).rejects.toMatchObject({ code: 'cancelled' });
    await snapshots.restore('a', { freeze });
    using other = newPlace();
    await forkWorkspace(place, other, { freeze });
    expect(seen.join(' ')).toBe(Array(4).fill('frozen thawed').join(' '));
    expect((await snapshots.list()).snapshots).toHaveLength(1);
  });

  it('stays frozen until the last file is restored, and a failed restore is one error', async () => {
    inWorkspace('for i in $(seq 200); do echo one > $i; done');
    await snapshots.take({ name: 'a' });
    inWorkspace('for i in $(seq 200); do echo two > $i; done');
    let thawedWith = '';
    const freeze = async () => ({
      [Symbol.asyncDispose]: async () => {
        thawedWith = readFileSync(join(place.workspace, '200'), 'utf8');
        await delay(300);
      },
    });
    await snapshots.restore('a', { freeze });
    expect(thawedWith).toBe('one\n');
    await expect(snapshots.restore('none', { freeze })).rejects.toMatchObject({ code: 'snapshot_not_found' });
  });

  it('reports a snapshot with lost content, and restores the others', async () => {
    inWorkspace('head -c 2000000 /dev/urandom > a');
    await snapshots.take({ name: 'a' });
    inWorkspace('rm a; head -c 2000000 /dev/urandom > b');
    await snapshots.take({ name: 'b' });
    const [first] = packs().toSorted();
    truncateSync(join(place.folder, 'packs', first ?? ''), 100);
    inWorkspace('echo new > new');
    const now = treeOf(place.workspace);
    await expect(snapshots.restore('a')).rejects.toMatchObject({ code: 'snapshot_damaged' });
    expect(treeOf(place.workspace)).toEqual(now);
    await snapshots.restore('b');
    const manifest = join(place.folder, 'kept', 'b');
    const text = readFileSync(manifest);
    text.writeUInt8(text.readUInt8(text.length - 10) ^ 1, text.length - 10);
    writeFileSync(manifest, text);
    await expect(snapshots.restore('b')).rejects.toMatchObject({ code: 'snapshot_damaged' });
    await snapshots.take({ name: 'c' });
    await snapshots.remove('a');
    await snapshots.remove('b');
    inWorkspace('rm b');
    await snapshots.restore('c');
    expect(await all(snapshots.diff('c'))).toEqual([]);
  });
});
