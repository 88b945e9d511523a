import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { isGeodeError } from '../../src/base/errors.ts';
import { connectEngine } from '../../src/runtimes/docker/engine.ts';
import { containerName } from '../../src/runtimes/home.ts';
import { readRecord, roomOf } from '../../src/runtimes/rooms.ts';
import type { RuntimeName } from '../../src/seams/runtime.ts';
import { events } from '../contracts/exec.ts';
import { eventually, fixtureText, type TestOptions } from '../contracts/harness.ts';
import { type SandboxWorld, sandboxWorld } from './world.ts';

const { bubblewrap, docker } = inject('engines');

const places = [
  { name: 'bubblewrap', world: {}, unavailable: bubblewrap.available ? undefined : bubblewrap.reason },
  {
    name: 'docker',
    world: docker.available ? { dockerSocket: docker.socket } : {},
    unavailable: docker.available ? undefined : docker.reason,
  },
] as const;

for (const { name, world: given, unavailable } of places) {
  const reason = unavailable === undefined ? '' : ` (skipped: ${unavailable})`;
  describe.skipIf(unavailable !== undefined)(`${name}: a guest that does not answer${reason}`, () => {
    it('SBX-6: a frozen guest delays no other sandbox', { timeout: 180_000 }, async () => {
      await using world = await sandboxWorld(name, given);
      const first = await world.host();
      const slow = await first.of('ann').getOrCreate('slow');
      const said = await slow.spawn({ argv: ['echo', 'said'] });
      await events(said);
      await (await first.of('bob').getOrCreate('fine')).files.write('note', 'here');
      await first[Symbol.asyncDispose]();

      const pid = await guestPid(world.options, name, slow.id);
      process.kill(pid, 'SIGSTOP');
      try {
        await using next = await world.host({ runtimes: [patient(world, slow.id)] });
        const done: string[] = [];
        const starting = next
          .of('ann')
          .start('slow')
          .then(() => done.push('slow'));
        starting.catch(() => {});
        const fine = await next.of('bob').start('fine');
        expect((await fine.exec({ argv: ['cat', 'note'] })).stdout).toBe('here');
        await next.of('bob').getOrCreate('another');
        expect((await next.all()).map(({ chat, state }) => [chat, state]).sort()).toEqual([
          ['another', 'running'],
          ['fine', 'running'],
          ['slow', 'running'],
        ]);
        const journals = await next.of('ann').journals('slow');
        expect(journals.open(said.id).length).toBe(5);
        done.push('others');
        process.kill(pid, 'SIGCONT');
        await starting;
        expect(done).toEqual(['others', 'slow']);
      } finally {
        process.kill(pid, 'SIGCONT');
      }
    });

    it('SEC-1: a guest that floods the socket of its link delays no other sandbox', {
      timeout: 180_000,
    }, async () => {
      await using world = await sandboxWorld(name, given);
      const first = await world.host();
      const spec = { limits: { diskBytes: null } };
      const flooded = await first.of('ann').getOrCreate('flooded', spec);
      await flooded.files.write('flood.py', await fixtureText('flood-link.py'));
      await (await first.of('bob').getOrCreate('fine')).files.write('note', 'here');
      await flooded.spawn({ argv: ['python3', 'flood.py'], timeoutMs: null });
      const count = async () => {
        const file = join(roomOf(world.options, flooded.id).workspace, 'count');
        return Number(await readFile(file, 'utf8').catch(() => '0'));
      };
      const counting = async () => {
        const before = await count();
        await eventually(async () => (await count()) > before, 'the flood to go on', 60_000);
      };
      await counting();
      await first[Symbol.asyncDispose]();

      const over = Promise.withResolvers<void>();
      await using next = await world.host({ runtimes: [patient(world, flooded.id, over.promise)] });
      await counting();
      const fine = await next.of('bob').start('fine');
      expect((await fine.exec({ argv: ['cat', 'note'] })).stdout).toBe('here');
      expect(await next.all()).toMatchObject([{ state: 'running' }, { state: 'running' }]);
      await counting();
      over.resolve();
    });
  });
}

/** Takes over the slow one when it answers and `over` says so, however long that takes. */
function patient(world: SandboxWorld, slow: string, over: Promise<void> = Promise.resolve()) {
  const { runtime } = world;
  const adopt: typeof runtime.adopt = async (id, cancel) => {
    for (;;) {
      try {
        const sandbox = await runtime.adopt(id, cancel);
        if (id === slow) await over;
        return sandbox;
      } catch (error) {
        if (id !== slow || !isGeodeError(error, 'sandbox_not_ready')) throw error;
      }
    }
  };
  return { ...runtime, adopt };
}

async function guestPid(options: TestOptions, name: RuntimeName, id: string): Promise<number> {
  if (name === 'docker') {
    const engine = await connectEngine(options.docker.host);
    return (await engine.getContainer(containerName(options, id)).inspect()).State.Pid;
  }
  const record = await readRecord(roomOf(options, id));
  return Number(record?.handle.split(':')[0]);
}
