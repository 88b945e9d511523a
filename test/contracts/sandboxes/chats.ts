import { describe, expect, it } from 'vitest';
import type { UserSandboxes } from '../../../src/seams/persistent.ts';
import { eachOf } from '../../each-of.ts';
import type { SandboxWorld } from '../../sandboxes/world.ts';
import { hostingIn } from './hosting.ts';

export function chatsContract(open: () => Promise<SandboxWorld>): void {
  const hosting = hostingIn(open);

  describe('one sandbox for each user and chat', () => {
    it('SBX-1: fifty calls at once get one sandbox, and each its own handle', () =>
      hosting(async (sandboxes, { runtime }) => {
        const mine = sandboxes.of('ann');
        const handles = await Promise.all(Array.from({ length: 50 }, () => mine.getOrCreate('chat')));
        expect(new Set(handles.map(({ id }) => id)).size).toBe(1);
        expect(await runtime.list()).toHaveLength(1);
        expect(await mine.list()).toMatchObject([{ user: 'ann', chat: 'chat', state: 'running' }]);
        const [first, last] = [handles[0], handles[49]];
        await first?.files.write('a', 'text');
        expect(await last?.files.readText('a')).toBe('text');
      }));

    it('SBX-1 SBX-2: names that run into each other, hostile and huge ones: one sandbox each, nothing leaks', () =>
      hosting(async (sandboxes) => {
        const names: readonly (readonly [string, string])[] = [
          ['a-b', 'c'],
          ['a', 'b-c'],
          ['a', ',"b'],
          ['a', '","b'],
          ['a', '../../etc'],
          ['a', '\u0000'],
          ['a', '/'],
          ['zoe', 'Zoë'],
          ['zoe', 'Zoe\u0308'],
          ['x'.repeat(128), 'y'],
          ['x'.repeat(127), 'xy'],
          ['a', 'x'.repeat(8192)],
          ['a', "'; DROP TABLE sandboxes; --"],
          ['a', '%_*?'],
          ['a', '\n\r\t\u001b[31m'],
          ['a', '--help'],
        ];
        const made = await Promise.all(
          names.map(async ([user, chat], index) => {
            const sandbox = await sandboxes.of(user).getOrCreate(chat);
            await sandbox.files.write('whose', String(index));
            return sandbox;
          }),
        );
        expect(new Set(made.map(({ id }) => id)).size).toBe(names.length);
        for (const [index, [user, chat]] of names.entries()) {
          const own = await sandboxes.of(user).list();
          expect(eachOf(own).every((status) => status.user === user)).toBe(true);
          expect(own.map((status) => status.chat)).toContain(chat);
          const again = await sandboxes.of(user).getOrCreate(chat);
          expect(await again.files.readText('whose')).toBe(String(index));
          expect(again.id).toMatch(/^[a-z0-9-]{1,40}$/);
        }
      }));

    it('SBX-1: no name, half a character and endless names are refused', () =>
      hosting(async (sandboxes, { runtime }) => {
        for (const name of ['', '\ud800', 'x'.repeat(9000)]) {
          expect(() => sandboxes.of(name)).toThrow(expect.objectContaining({ code: 'invalid_input' }));
          await expect(sandboxes.of('ann').getOrCreate(name)).rejects.toMatchObject({
            code: 'invalid_input',
          });
        }
        expect(await runtime.list()).toEqual([]);
      }));

    it('SBX-1: refuses a sandbox for an invalid user name', () =>
      hosting(async (sandboxes, { runtime }) => {
        for (const name of ['A', 'Zoë', '../..', 'a b', 'a/b', '-a', 'x'.repeat(129), 'a\n', '\u0000']) {
          await expect(sandboxes.of(name).getOrCreate('chat')).rejects.toMatchObject({
            code: 'invalid_input',
            message: expect.stringContaining('user name'),
          });
        }
        expect(await runtime.list()).toEqual([]);
      }));

    it("SBX-1 SBX-2: no operation reaches another user's chat of the same name", () =>
      hosting(async (sandboxes) => {
        const sandbox = await sandboxes.of('ann').getOrCreate('chat');
        const eve = sandboxes.of('eve');
        // Every verb there is: a new one does not compile until it stands here.
        const attempts: Record<
          Exclude<keyof UserSandboxes, 'user' | 'getOrCreate' | 'list' | 'remove'>,
          () => Promise<unknown>
        > = {
          start: () => eve.start('chat'),
          inspect: () => eve.inspect('chat'),
          stop: () => eve.stop('chat'),
          pause: () => eve.pause('chat'),
          fork: () => eve.fork('chat', 'mine'),
          checkpoint: () => eve.checkpoint('chat'),
          checkpoints: () => eve.checkpoints('chat'),
          removeCheckpoint: () => eve.removeCheckpoint('chat', 'mine'),
          hibernate: () => eve.hibernate('chat'),
          withSnapshot: () => eve.withSnapshot('chat', async () => {}),
          extend: () => eve.extend('chat', 1000),
          thinkingUntil: () => eve.thinkingUntil('chat', Date.now() + 1000),
          label: () => eve.label('chat', { mine: 'yes' }),
          rename: () => eve.rename('chat', 'mine'),
          journals: () => eve.journals('chat'),
          egress: () => eve.egress('chat'),
          changeEgress: () =>
            eve.changeEgress('chat', () => ({
              policy: { mode: 'deny-all', allow: [], deny: [] },
              bindings: [],
            })),
        };
        for (const [verb, attempt] of Object.entries(attempts)) {
          await expect(attempt(), verb).rejects.toMatchObject({ code: 'sandbox_not_found' });
        }
        expect(await eve.remove('chat')).toBe(false);
        expect(await eve.list()).toEqual([]);
        expect((await eve.getOrCreate('chat')).id).not.toBe(sandbox.id);
        expect((await sandbox.exec({ argv: ['echo', 'alive'] })).stdout).toBe('alive\n');
        expect(await sandboxes.of('ann').inspect('chat')).toMatchObject({ id: sandbox.id, labels: {} });
      }));
  });
}
