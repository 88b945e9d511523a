import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { GeodeError } from '../../../src/base/errors.ts';
import { reap } from '../../../src/pool/reap.ts';
import type { ProcessEvent } from '../../../src/seams/process.ts';
import type { Runtime } from '../../../src/seams/runtime.ts';
import type { SandboxWorld } from '../../sandboxes/world.ts';
import { events } from '../exec.ts';
import { eventually } from '../harness.ts';
import { hostingIn } from './hosting.ts';

export function hostsContract(open: () => Promise<SandboxWorld>): void {
  const hosting = hostingIn(open);

  describe('hosts', () => {
    it('SBX-6: the next host has every sandbox, every process and every byte', () =>
      hosting(async (sandboxes, world) => {
        const sandbox = await sandboxes.of('ann').getOrCreate('chat', { env: { WORD: 'line' } });
        const script =
          'i=0; while [ $i -lt 2000 ]; do echo $WORD $i; i=$((i+1)); done; until [ -e go ]; do sleep 0.05; done; echo last; exit 4';
        const process = await sandbox.spawn({ argv: ['/bin/sh', '-c', script], timeoutMs: null });
        for await (const event of process)
          if (event.type === 'stdout' && event.offset + event.bytes.length > 1000) break;
        const reading = events(await sandbox.attach(process.id));
        reading.catch(() => {});
        await sandboxes[Symbol.asyncDispose]();
        await expect(reading).rejects.toMatchObject({ code: 'sandbox_gone' });

        const next = await world.host();
        const again = await next.of('ann').getOrCreate('chat');
        expect(again.id).toBe(sandbox.id);
        const readers = await Promise.all([again.attach(process.id), again.attach(process.id, { from: 7 })]);
        await again.files.write('go', '');
        const [all, rest] = await Promise.all(readers.map((reader) => events(reader)));
        const whole = `${Array.from({ length: 2000 }, (_, index) => `line ${index}\n`).join('')}last\n`;
        expect(all).toMatchObject({ stdout: whole, exit: { exitCode: 4 } });
        expect(rest?.stdout).toBe(whole.slice(7));
        expect((await again.exec({ argv: ['/bin/sh', '-c', 'echo $WORD'] })).stdout).toBe('line\n');
      }));

    it('PROC-1: a process that writes without a reader is not blocked', () =>
      hosting(async (sandboxes) => {
        const sandbox = await sandboxes.of('ann').getOrCreate('chat');
        const process = await sandbox.spawn({
          argv: ['/bin/sh', '-c', 'head -c 20000000 /dev/zero; echo end > done'],
        });
        await eventually(() => sandbox.files.exists('done'), 'the end of the process');
        const { exit, lost, stdout } = await measured(await sandbox.attach(process.id));
        expect(exit).toMatchObject({ exitCode: 0 });
        expect(stdout + lost).toBe(20_000_000);
      }));

    it('SBX-6: rebuilds a deleted ledger from the sandboxes', () =>
      hosting(async (sandboxes, world) => {
        const sandbox = await sandboxes.of('ann').getOrCreate('chat', { labels: { a: 'b' } });
        await sandboxes.of('bob').getOrCreate('chat');
        await sandboxes.of('bob').stop('chat');
        await sandboxes[Symbol.asyncDispose]();
        for (const suffix of ['', '-wal', '-shm'])
          rmSync(`${world.options.stateDir}/ledger.db${suffix}`, { force: true });
        const next = await world.host();
        expect(await next.of('ann').list()).toMatchObject([
          { id: sandbox.id, chat: 'chat', state: 'running', labels: { a: 'b' } },
        ]);
        expect(await next.of('bob').list()).toMatchObject([{ chat: 'chat', state: 'stopped' }]);
      }));

    it('SBX-6: never reaps the sandboxes of a user, with any content of the ledger', () =>
      hosting(async (sandboxes, world) => {
        const sandbox = await sandboxes.of('ann').getOrCreate('chat');
        await sandbox.files.write('kept', 'yes');
        await sandboxes[Symbol.asyncDispose]();
        const reaped = await reap([world.runtime], () => true);
        expect(reaped).toEqual([]);
        const next = await world.host();
        expect(await (await next.of('ann').start('chat')).files.readText('kept')).toBe('yes');
      }));

    it('SBX-6: a runtime that does not answer, or fails to adopt once, delays no other sandbox', async () => {
      await using world = await open();
      const first = await world.host();
      const sandbox = await first.of('ann').getOrCreate('chat');
      const process = await sandbox.spawn({ argv: ['sleep', '1000'], timeoutMs: null });
      await first[Symbol.asyncDispose]();
      let failures = 2;
      const shaky: Runtime = {
        ...world.runtime,
        adopt: (id, cancel) => {
          failures -= 1;
          return failures >= 0
            ? Promise.reject(new GeodeError('timed_out', 'not now'))
            : world.runtime.adopt(id, cancel);
        },
      };
      const next = await world.host({
        runtimes: [shaky],
        sweepEveryMs: 50,
        policy: { idleMs: null, removeMs: 1 },
      });
      await eventually(async () => failures < 0, 'another try');
      const again = await next.of('ann').start('chat');
      expect((await again.processes()).processes).toMatchObject([{ id: process.id, state: 'running' }]);
      await next[Symbol.asyncDispose]();
      const blind: Runtime = {
        ...world.runtime,
        probe: async () => ({ available: false, reason: 'away', fix: 'wait' }),
        list: async () => [],
        traces: async () => [],
      };
      const third = await world.host({ runtimes: [blind] });
      await third[Symbol.asyncDispose]();
      const fourth = await world.host();
      expect(await fourth.of('ann').inspect('chat')).toMatchObject({ id: sandbox.id, state: 'running' });
    });

    it.skipIf(process.getuid?.() !== 0)(
      'SBX-8: on a full disk sandboxes can be stopped, removed and released (where the test may mount one)',
      async ({ skip }) => {
        await using world = await open();
        skip(world.runtime.images !== undefined, 'the engine may live where a mount of the test is not seen');
        const { stateDir } = world.options;
        mkdirSync(stateDir, { recursive: true, mode: 0o700 });
        execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=96m,mode=700', 'tmpfs', stateDir]);
        await using _disk = {
          async [Symbol.asyncDispose]() {
            for (const id of await world.runtime.traces()) await world.runtime.remove(id);
            execFileSync('umount', ['--lazy', stateDir]);
          },
        };
        await using sandboxes = await world.host();
        const mine = sandboxes.of('ann');
        await mine.getOrCreate('one');
        await mine.getOrCreate('two');
        const filler = join(stateDir, 'filler');
        execFileSync('/bin/sh', ['-c', 'cat /dev/zero > "$1" 2>/dev/null || true', 'sh', filler]);
        await expect(mine.extend('two', 1000)).rejects.toMatchObject({ code: 'disk_full' });
        await sandboxes.sweep();
        await mine.stop('one');
        expect(await mine.inspect('one')).toMatchObject({ state: 'stopped' });
        await mine.remove('one').catch((error) => expect(error).toMatchObject({ code: 'disk_full' }));
        expect((await world.runtime.list()).map(({ state }) => state)).toEqual(['running']);
        rmSync(filler);
        await mine.remove('one');
        expect(await mine.list()).toMatchObject([{ chat: 'two', state: 'running' }]);
      },
    );

    it('SBX-6: a second host is refused with the name of the first, and may take over', () =>
      hosting(async (sandboxes, world) => {
        const refusal = await world.host().catch((error) => error);
        expect(refusal).toMatchObject({ code: 'ledger_held', details: { pid: process.pid } });
        expect(refusal.hint).toContain(`kill ${process.pid}`);
        setTimeout(() => void sandboxes[Symbol.asyncDispose](), 100);
        const next = await world.host({ waitMs: 60_000 });
        await next.of('ann').getOrCreate('chat');
      }));

    it('RUN-8 SBX-1: a new chat takes a blank sandbox of the pool; the rest of the pool ends with the host', async () => {
      await using world = await open();
      const sandboxes = await world.host({ pool: { floor: 1, ceiling: 2 } });
      await sandboxes.warm(2);
      const blank = (await world.runtime.list()).map(({ id }) => id);
      expect(blank).toHaveLength(2);
      const { id } = await sandboxes.of('ann').getOrCreate('chat');
      expect(blank).toContain(id);
      expect((await sandboxes.of('ann').list()).map((status) => status.id)).toEqual([id]);
      await sandboxes[Symbol.asyncDispose]();
      expect((await world.runtime.list()).map((facts) => facts.id)).toEqual([id]);
      const next = await world.host();
      expect(await next.of('ann').inspect('chat')).toMatchObject({ id, state: 'running' });
    });
  });
}

async function measured(process: AsyncIterable<ProcessEvent>) {
  let [stdout, lost] = [0, 0];
  for await (const event of process) {
    if (event.type === 'stdout') stdout += event.bytes.length;
    if (event.type === 'output-lost') lost += event.length;
    if (event.type === 'exit') return { exit: event, stdout, lost };
  }
  throw new Error('no exit');
}
