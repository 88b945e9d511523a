import { readdirSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { giveBackUser, hasUsers, takeUser } from '../../src/runtimes/own-users.ts';
import { roomOf } from '../../src/runtimes/rooms.ts';
import type { Workspace } from '../../src/seams/sandbox.ts';
import { eventually, fixtureText, type TestOptions, testOptions } from '../contracts/harness.ts';
import { sandboxWorld } from '../sandboxes/world.ts';

const { bubblewrap, docker } = inject('engines');
const notRoot = process.getuid?.() === 0 ? undefined : 'the host is not root';

const places = [
  { name: 'bubblewrap', world: {}, unavailable: bubblewrap.available ? notRoot : bubblewrap.reason },
  {
    name: 'docker',
    world: docker.available ? { dockerSocket: docker.socket } : {},
    unavailable: docker.available ? notRoot : docker.reason,
  },
] as const;

const uidOf = async (sandbox: Pick<Workspace, 'exec'>) =>
  Number((await sandbox.exec({ argv: ['id', '-u'] })).stdout);
const taken = ({ stateDir }: TestOptions) => readdirSync(join(stateDir, 'uids')).map(Number);

for (const { name, world: given, unavailable } of places) {
  const reason = unavailable === undefined ? '' : ` (skipped: ${unavailable})`;
  describe.skipIf(unavailable !== undefined)(`${name}: a user for each sandbox${reason}`, () => {
    it('RT-6: one sandbox that uses up a per-user limit leaves the limit of another sandbox unused', {
      timeout: 180_000,
    }, async () => {
      await using world = await sandboxWorld(name, given);
      const greedy = await world.runtime.open({});
      const other = await world.runtime.open({});
      const script = await fixtureText('take-inotify.py');
      for (const sandbox of [greedy, other]) await sandbox.files.write('take.py', script);
      await greedy.spawn({ argv: ['python3', 'take.py'], timeoutMs: null });
      await eventually(() => greedy.files.exists('taken'), 'the greedy one', 60_000);
      await other.spawn({ argv: ['python3', 'take.py'], timeoutMs: null });
      await eventually(() => other.files.exists('taken'), 'the other', 60_000);
      expect(Number(await greedy.files.readText('taken'))).toBeGreaterThan(0);
      expect(Number(await other.files.readText('taken'))).toBeGreaterThan(0);
      const users = [await uidOf(greedy), await uidOf(other)];
      expect(new Set(users).size).toBe(2);
      expect(taken(world.options).sort()).toEqual(users.sort());
      await greedy.stop();
      await other.stop();
      expect(taken(world.options)).toEqual([]);
    });

    it('SBX-4 SBX-7: files follow their user, through a stop, another host, a snapshot and a fork', {
      timeout: 180_000,
    }, async () => {
      await using world = await sandboxWorld(name, given);
      const first = await world.host();
      const made = await first.of('ann').getOrCreate('chat');
      const uid = await uidOf(made);
      await made.files.write('folder/note', 'one');
      await made.snapshots?.take({ name: 'before' });
      await made.files.write('folder/note', 'two');
      await first.of('ann').stop('chat');
      expect(await uidOf(await first.of('ann').start('chat'))).toBe(uid);
      await first[Symbol.asyncDispose]();

      const next = await world.host();
      const again = await next.of('ann').start('chat');
      expect(await uidOf(again)).toBe(uid);
      await again.snapshots?.restore('before');
      expect((await again.exec({ argv: ['cat', 'folder/note'] })).stdout).toBe('one');
      const fork = await next.of('ann').fork('chat', 'fork');
      const forked = await uidOf(fork);
      expect(forked).not.toBe(uid);
      const change = 'echo three > folder/note; mv folder moved; stat -c %u . moved moved/note';
      const { stdout, stderr } = await fork.exec({ argv: ['/bin/sh', '-c', change] });
      expect({ stdout, stderr }).toEqual({ stdout: `${forked}\n`.repeat(3), stderr: '' });
      const { uid: owner } = await lstat(roomOf(world.options, fork.id).workspace);
      expect(owner).toBe(forked);
      expect(await again.files.readText('folder/note')).toBe('one');
    });
  });
}

describe('the users of a state folder', () => {
  it('each room has its own user and keeps it; a returned user is assigned again', async () => {
    await using options = await testOptions();
    const range = { first: 5_000, count: 3 };
    const take = (id: string) => takeUser(options, { id }, range);
    const all = await Promise.all(['a', 'b', 'c'].map(take));
    expect(all.map(({ uid }) => uid).sort()).toEqual([5_000, 5_001, 5_002]);
    expect(await take('b')).toEqual(all[1]);
    await expect(take('d')).rejects.toMatchObject({ code: 'too_many_sandboxes' });
    await giveBackUser(options, { id: 'd' }, all[0]);
    await expect(take('d')).rejects.toMatchObject({ code: 'too_many_sandboxes' });
    await giveBackUser(options, { id: 'a' }, all[0]);
    await giveBackUser(options, { id: 'c' }, undefined);
    expect((await take('d')).uid).not.toBe(all[1]?.uid);
    expect((await take('e')).uid).not.toBe(all[1]?.uid);
  });

  it('does not use ids that the kernel does not map here', async () => {
    expect(await hasUsers({ first: 4_294_967_290, count: 100 })).toBe(false);
  });
});
