import { describe, expect, it } from 'vitest';
import type { SandboxWorld } from '../../sandboxes/world.ts';
import { eventually } from '../harness.ts';

export function sweepContract(open: () => Promise<SandboxWorld>): void {
  describe('the sweep', () => {
    it('SBX-5: stops idle sandboxes, keeps busy, leased and reserved ones, then removes old ones', async () => {
      await using world = await open();
      const sandboxes = await world.host({ policy: { idleMs: 1_000, removeMs: 2_500 } });
      const mine = sandboxes.of('ann');
      const chats = ['idle', 'working', 'disowned', 'read', 'leased', 'thinking'] as const;
      const [, working, disowned, read] = await Promise.all(chats.map((chat) => mine.getOrCreate(chat)));
      const process = await working?.spawn({ argv: ['sleep', '1000'], timeoutMs: null });
      await disowned?.exec({ argv: ['/bin/sh', '-c', '(sleep 1000 >/dev/null 2>&1 &)'] });
      await read?.files.write('big', 'x'.repeat(8_000_000));
      const stream = read?.files.stream('big')[Symbol.asyncIterator]();
      await stream?.next();
      await mine.extend('leased', 600_000);
      await mine.thinkingUntil('thinking', Date.now() + 600_000);
      const stateOf = async (chat: string) => (await mine.inspect(chat)).state;
      await eventually(async () => {
        await sandboxes.sweep();
        return (await stateOf('idle')) === 'stopped';
      }, 'the idle one to be stopped');
      for (const chat of chats.slice(1)) expect(await stateOf(chat), chat).toBe('running');

      await process?.kill();
      await stream?.return?.();
      await mine.thinkingUntil('thinking', 0);
      await eventually(async () => {
        await sandboxes.sweep();
        return (await mine.list()).every(
          ({ chat, state }) => state === 'stopped' || ['disowned', 'leased'].includes(chat),
        );
      }, 'those that came to rest to be stopped');
      await eventually(async () => {
        await sandboxes.sweep();
        return (await mine.list()).length === 2;
      }, 'the old ones to be removed');
      expect((await mine.list()).map(({ chat, state }) => [chat, state])).toEqual([
        ['disowned', 'running'],
        ['leased', 'running'],
      ]);
    });

    it('SBX-5: sweeps at its interval without a call', async () => {
      await using world = await open();
      const sandboxes = await world.host({ policy: { idleMs: 50, removeMs: 100 }, sweepEveryMs: 20 });
      await sandboxes.of('ann').getOrCreate('chat');
      await eventually(async () => (await sandboxes.of('ann').list()).length === 0, 'it to be removed');
      await eventually(async () => (await world.runtime.traces()).length === 0, 'every trace to go');
    });
  });
}
