import { describe, expect, it } from 'vitest';
import type { SandboxWorld } from '../../sandboxes/world.ts';
import { eventually } from '../harness.ts';
import { hostingIn } from './hosting.ts';

export function workspaceContract(open: () => Promise<SandboxWorld>): void {
  const hosting = hostingIn(open);

  describe('its files', () => {
    const shell = (text: string) => ({ argv: ['/bin/sh', '-c', text] as const });

    it('SBX-7: takes a snapshot, compares and restores it while a process runs', () =>
      hosting(async (sandboxes) => {
        const sandbox = await sandboxes.of('ann').getOrCreate('chat');
        const { snapshots } = sandbox;
        if (snapshots === undefined) throw new Error('its files are on this host');
        await sandbox.exec(shell('mkdir d; echo one > d/one; echo two > two; ln -s /etc/passwd link'));
        const ticking = await sandbox.spawn({
          ...shell('i=0; while :; do echo $i; i=$((i+1)); sleep 0.02; done'),
          timeoutMs: null,
        });
        await snapshots.take({ name: 'first' });
        await sandbox.exec(shell('echo more >> d/one; rm two; echo three > three'));
        const changes = [];
        for await (const { path, change } of snapshots.diff('first')) changes.push(`${change} ${path}`);
        expect(changes).toEqual(['modified d/one', 'added three', 'removed two']);
        await snapshots.restore('first');
        expect((await sandbox.exec(shell('cat d/one two; ls; readlink link'))).stdout).toBe(
          'one\ntwo\nd\nlink\ntwo\n/etc/passwd\n',
        );
        const before = (await sandbox.attach(ticking.id)).id;
        expect(before).toBe(ticking.id);
        const seen = sandbox.journals.open(ticking.id).length;
        await eventually(async () => sandbox.journals.open(ticking.id).length > seen, 'the process to go on');
      }));

    it('SBX-7: the file changes of the last command are undone, one command after the other', () =>
      hosting(async (sandboxes) => {
        const sandbox = await sandboxes.of('ann').getOrCreate('chat');
        await sandbox.exec(shell('echo 1 > a'), { undoable: true });
        await sandbox.exec(shell('echo 2 > a; rm -rf /tmp/x; mkdir -p deep/er; echo b > deep/er/b'), {
          undoable: true,
        });
        await sandbox.snapshots?.undo();
        expect((await sandbox.exec(shell('cat a; ls'))).stdout).toBe('1\na\n');
        await sandbox.snapshots?.undo();
        expect((await sandbox.exec(shell('ls'))).stdout).toBe('');
        await expect(sandbox.snapshots?.undo()).rejects.toMatchObject({ code: 'snapshot_not_found' });
      }));

    it('SBX-7: the handle of a stopped sandbox cannot change the files of the next one', () =>
      hosting(async (sandboxes) => {
        const mine = sandboxes.of('ann');
        const { snapshots, files } = await mine.getOrCreate('chat');
        if (snapshots === undefined) throw new Error('its files are on this host');
        await files.write('a', '1');
        await snapshots.take({ name: 'early' });
        await mine.stop('chat');
        const stopped = { code: 'sandbox_stopped' };
        await expect(snapshots.restore('early')).rejects.toMatchObject(stopped);
        const again = await mine.start('chat');
        await again.files.write('a', '2');
        await expect(snapshots.restore('early')).rejects.toMatchObject(stopped);
        await expect(snapshots.take()).rejects.toMatchObject(stopped);
        await expect(snapshots.remove('early')).rejects.toMatchObject(stopped);
        await expect(snapshots.diff('early')[Symbol.asyncIterator]().next()).rejects.toMatchObject(stopped);
        expect(await again.files.readText('a')).toBe('2');
        await again.snapshots?.restore('early');
        expect(await again.files.readText('a')).toBe('1');
      }));

    it('SBX-7: a fork of a running sandbox starts with its files, and changes independently', () =>
      hosting(async (sandboxes) => {
        const mine = sandboxes.of('ann');
        const sandbox = await mine.getOrCreate('chat', { env: { COLOUR: 'green' } });
        await sandbox.exec(shell('echo 1 > a; mkdir d; echo x > d/x; chmod 640 a'));
        await sandbox.snapshots?.take({ name: 'early' });
        await sandbox.exec(shell('echo 2 > a'));
        const [fork, early] = [
          await mine.fork('chat', 'fork'),
          await mine.fork('chat', 'early', { snapshot: 'early' }),
        ];
        expect((await fork.exec(shell('cat a d/x; stat -c %a a; echo $COLOUR; echo 3 > a'))).stdout).toBe(
          '2\nx\n640\ngreen\n',
        );
        expect((await early.exec(shell('cat a'))).stdout).toBe('1\n');
        expect((await sandbox.exec(shell('cat a'))).stdout).toBe('2\n');
        await expect(mine.fork('chat', 'fork')).rejects.toMatchObject({ code: 'sandbox_exists' });
        await expect(mine.fork('none', 'other')).rejects.toMatchObject({ code: 'sandbox_not_found' });
        await expect(mine.fork('chat', 'x', { snapshot: 'nothing' })).rejects.toMatchObject({
          code: 'snapshot_not_found',
        });
        expect((await mine.list()).map(({ chat }) => chat)).toEqual(['chat', 'fork', 'early']);
        await mine.stop('chat');
        const late = await mine.fork('chat', 'late');
        expect((await late.exec(shell('cat a d/x'))).stdout).toBe('2\nx\n');
        expect(await mine.inspect('chat')).toMatchObject({ state: 'stopped' });
        await mine.remove('chat');
        expect((await fork.exec(shell('cat a'))).stdout).toBe('3\n');
      }));

    it('SBX-9: a paused sandbox does nothing, is swept when idle, and continues when it is used', async () => {
      await using world = await open();
      const sandboxes = await world.host({ policy: { idleMs: 1_000, removeMs: null } });
      const mine = sandboxes.of('ann');
      const sandbox = await mine.getOrCreate('chat');
      const found = await world.runtime.probe();
      if (!found.available || !found.capabilities.pause) {
        await expect(mine.pause('chat')).rejects.toMatchObject({ code: 'cannot_enforce' });
        return;
      }
      const ticking = await sandbox.spawn({
        ...shell('while :; do echo tick; sleep 0.02; done'),
        timeoutMs: null,
      });
      await mine.pause('chat');
      expect(await mine.inspect('chat')).toMatchObject({ state: 'paused' });
      await expect(sandbox.exec(shell('true'))).rejects.toMatchObject({ code: 'sandbox_paused' });
      await sandboxes[Symbol.asyncDispose]();
      const next = await world.host({ policy: { idleMs: 1_000, removeMs: null } });
      const again = next.of('ann');
      expect(await again.inspect('chat')).toMatchObject({ state: 'paused' });
      const length = (await again.journals('chat')).open(ticking.id).length;
      await again.getOrCreate('chat');
      expect(await again.inspect('chat')).toMatchObject({ state: 'running' });
      await eventually(
        async () => (await again.journals('chat')).open(ticking.id).length > length,
        'it to go on',
      );
      await again.pause('chat');
      await eventually(async () => {
        await next.sweep();
        return (await again.inspect('chat')).state === 'stopped';
      }, 'the paused one to be stopped');
    });
  });
}
