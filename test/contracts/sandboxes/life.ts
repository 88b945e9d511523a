import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { roomOf } from '../../../src/runtimes/rooms.ts';
import type { SandboxWorld } from '../../sandboxes/world.ts';
import { events } from '../exec.ts';
import { eventually } from '../harness.ts';
import { hostingIn } from './hosting.ts';

export function lifeContract(open: () => Promise<SandboxWorld>): void {
  const hosting = hostingIn(open);

  describe('its life', () => {
    it('SBX-2 SBX-4: stop keeps the files, start brings them back, remove leaves nothing', () =>
      hosting(async (sandboxes, { runtime, options }) => {
        const mine = sandboxes.of('ann');
        const sandbox = await mine.getOrCreate('chat', { env: { COLOUR: 'blue' }, labels: { kind: 'test' } });
        await sandbox.files.write('kept', 'yes');
        const server = await sandbox.spawn({
          argv: ['/bin/sh', '-c', 'trap "echo bye; exit 3" TERM; echo up; while :; do sleep 0.1; done'],
          timeoutMs: null,
        });
        for await (const event of server) if (event.type === 'stdout') break;
        await Promise.all([mine.stop('chat'), mine.stop('chat')]);
        expect(await mine.inspect('chat')).toMatchObject({ state: 'stopped', labels: { kind: 'test' } });
        await expect(sandbox.exec({ argv: ['true'] })).rejects.toMatchObject({ code: 'sandbox_stopped' });
        const journal = (await mine.journals('chat')).open(server.id);
        expect(journal.exit).toMatchObject({ exitCode: 3 });
        const again = await mine.start('chat');
        expect(again.id).toBe(sandbox.id);
        expect(await again.files.readText('kept')).toBe('yes');
        expect((await again.exec({ argv: ['/bin/sh', '-c', 'echo $COLOUR'] })).stdout).toBe('blue\n');
        expect(await events(await again.attach(server.id))).toMatchObject({ stdout: 'up\nbye\n' });
        expect(await mine.remove('chat')).toBe(true);
        expect(await mine.remove('chat')).toBe(false);
        await expect(again.exec({ argv: ['true'] })).rejects.toMatchObject({ code: 'sandbox_gone' });
        await expect(mine.start('chat')).rejects.toMatchObject({ code: 'sandbox_not_found' });
        expect(await runtime.traces()).toEqual([]);
        expect(existsSync(roomOf(options, sandbox.id).folder)).toBe(false);
      }));

    it('SBX-2: getOrCreate refuses unknown options and options that differ from the existing sandbox', () =>
      hosting(async (sandboxes, world) => {
        const mine = sandboxes.of('ann');
        await mine.getOrCreate('chat', { env: { A: '1' }, limits: { openFiles: 512 } });
        await mine.getOrCreate('chat');
        await mine.getOrCreate('chat', { limits: { openFiles: 512 } });
        await mine.getOrCreate('chat', { runtime: world.runtime.name, limits: { openFiles: 512 } });
        for (const wrong of [{ imgae: 'x' }, { owner: 'eve' }, { id: 'x' }, { env: { A: 1 } }]) {
          await expect(mine.getOrCreate('third', wrong as object)).rejects.toMatchObject({
            code: 'invalid_input',
          });
        }
        const other = mine.getOrCreate('chat', { limits: { openFiles: 1024 } });
        await expect(other).rejects.toMatchObject({ code: 'sandbox_exists', details: { field: 'limits' } });
        await expect(mine.getOrCreate('other', { env: { 'A B': '1' } })).rejects.toMatchObject({
          code: 'invalid_input',
        });
        expect(await mine.list()).toHaveLength(1);
      }));

    it('SBX-2: changes labels, lease and name; refuses a used name', () =>
      hosting(async (sandboxes, world) => {
        const mine = sandboxes.of('ann');
        const { id } = await mine.getOrCreate('one');
        await mine.getOrCreate('two');
        expect(await mine.label('one', { colour: 'red' })).toMatchObject({ labels: { colour: 'red' } });
        await expect(mine.label('one', { 'not a name': 'x' })).rejects.toMatchObject({
          code: 'invalid_input',
        });
        const { keptUntil } = await mine.extend('one', 60_000);
        expect(keptUntil).toBeGreaterThan(Date.now() + 50_000);
        expect(await mine.extend('one', 10)).toMatchObject({ keptUntil });
        for (const ms of [-1, 1.5, Number.NaN, Number.MAX_SAFE_INTEGER]) {
          await expect(mine.extend('one', ms)).rejects.toMatchObject({ code: 'invalid_input' });
          await expect(mine.thinkingUntil('one', ms)).rejects.toMatchObject({ code: 'invalid_input' });
        }
        await expect(mine.rename('one', 'two')).rejects.toMatchObject({ code: 'sandbox_exists' });
        await expect(mine.rename('one', 'one')).rejects.toMatchObject({ code: 'sandbox_exists' });
        const [renamed] = await Promise.allSettled([mine.rename('one', 'three'), mine.rename('two', 'one')]);
        expect(renamed.status).toBe('fulfilled');
        expect(await mine.inspect('three')).toMatchObject({ id, labels: { colour: 'red' }, keptUntil });
        await sandboxes[Symbol.asyncDispose]();
        const next = await world.host();
        expect(await next.of('ann').inspect('three')).toMatchObject({ id, state: 'running', keptUntil });
      }));

    it('SBX-3: limits running sandboxes per user and in total; stopping one allows the next', async () => {
      await using world = await open();
      const sandboxes = await world.host({ most: { most: 3, mostPerUser: 2 } });
      const [ann, bob] = [sandboxes.of('ann'), sandboxes.of('bob')];
      const outcomes = await Promise.allSettled(['1', '2', '3', '4'].map((chat) => ann.getOrCreate(chat)));
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
      expect(
        outcomes.filter((outcome) => outcome.status === 'rejected').map(({ reason }) => reason.code),
      ).toEqual(['too_many_sandboxes', 'too_many_sandboxes']);
      await bob.getOrCreate('1');
      await expect(bob.getOrCreate('2')).rejects.toMatchObject({ code: 'too_many_sandboxes' });
      const [first, second] = (await ann.list()).map(({ chat }) => chat);
      if (first === undefined || second === undefined) throw new Error('there should be two');
      await ann.stop(first);
      await bob.getOrCreate('2');
      await expect(ann.start(first)).rejects.toMatchObject({ code: 'too_many_sandboxes' });
      await bob.remove('1');
      await ann.start(first);
      expect(await world.runtime.list()).toHaveLength(3);
    });

    it('SBX-2: a killed sandbox is listed as stopped, and starts again with its files', () =>
      hosting(async (sandboxes, { runtime }) => {
        const mine = sandboxes.of('ann');
        const sandbox = await mine.getOrCreate('chat');
        await sandbox.files.write('kept', 'yes');
        const running = await sandbox.spawn({ argv: ['sleep', '1000'], timeoutMs: null });
        await runtime.halt(sandbox.id);
        const outcome = await events(running).then(
          ({ exit }) => exit?.signal,
          (error) => error.code,
        );
        expect(outcome).toMatch(/^(sandbox_gone|SIGKILL|SIGTERM)$/);
        await eventually(
          async () => (await mine.inspect('chat')).state === 'stopped',
          'the end to be noticed',
        );
        const again = await mine.getOrCreate('chat');
        expect(await again.files.readText('kept')).toBe('yes');
      }));

    it('a cancelled call leaves nothing, and other calls that wait for the same sandbox get it', () =>
      hosting(async (sandboxes, { runtime }) => {
        const mine = sandboxes.of('ann');
        const stop = new AbortController();
        const first = mine.getOrCreate('chat', {}, { signal: stop.signal });
        const second = mine.getOrCreate('chat');
        stop.abort();
        await expect(first).rejects.toMatchObject({ code: 'cancelled' });
        expect((await (await second).exec({ argv: ['echo', 'mine'] })).stdout).toBe('mine\n');
        expect(await runtime.list()).toHaveLength(1);
      }));
  });
}
