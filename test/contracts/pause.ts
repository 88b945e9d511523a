import { describe, expect, it } from 'vitest';
import type { Freezer, Sandbox, SandboxSpec } from '../../src/seams/sandbox.ts';
import { events } from './exec.ts';
import { eventually, type Harness } from './harness.ts';

const counting = 'import time\ni = 0\nwhile True: print(i, flush=True); i += 1; time.sleep(0.01)';

/** SBX-9: a paused sandbox, and events that may happen to it. */
export function pauseContract(harness: () => Harness): void {
  describe('pause', () => {
    const stateOf = async ({ id }: Sandbox) =>
      (await harness().runtime.list()).find((facts) => facts.id === id)?.state;
    const opened = async (spec: SandboxSpec = {}): Promise<{ sandbox: Sandbox; freezer: Freezer }> => {
      const sandbox = await harness().open(spec);
      if (sandbox.freezer === undefined) throw new Error('there is no freezer');
      return { sandbox, freezer: sandbox.freezer };
    };

    it('SBX-9: a runtime that can pause declares it, and the others have no freezer', async () => {
      const sandbox = await harness().open();
      expect(sandbox.freezer !== undefined).toBe(harness().capabilities.pause);
      await sandbox.stop();
    });

    it('SBX-9: a paused sandbox runs nothing, and continues everything afterwards', async ({ skip }) => {
      skip(!harness().capabilities.pause, 'this runtime cannot pause');
      const { sandbox, freezer } = await opened();
      const process = await sandbox.spawn({ argv: ['python3', '-c', counting], timeoutMs: null });
      const reading = process[Symbol.asyncIterator]();
      const numbers: number[] = [];
      const readUntil = async (most: number) => {
        while ((numbers.at(-1) ?? -1) < most) {
          const { value } = await reading.next();
          if (value?.type === 'stdout')
            numbers.push(...Buffer.from(value.bytes).toString().split('\n').filter(Boolean).map(Number));
        }
      };
      await readUntil(20);
      await Promise.all([freezer.pause(), freezer.pause()]);
      expect(freezer.paused).toBe(true);
      expect(await stateOf(sandbox)).toBe('paused');
      const paused = { code: 'sandbox_paused', status: 409 };
      await expect(sandbox.exec({ argv: ['true'] })).rejects.toMatchObject(paused);
      await expect(sandbox.files.list('.')).rejects.toMatchObject(paused);
      await expect(sandbox.metrics()).rejects.toMatchObject(paused);
      await expect(sandbox.tunnel(80)).rejects.toMatchObject(paused);

      await Promise.all([freezer.resume(), freezer.resume()]);
      expect(freezer.paused).toBe(false);
      expect(await stateOf(sandbox)).toBe('running');
      await readUntil((numbers.at(-1) ?? 0) + 50);
      expect(numbers).toEqual(numbers.map((_, index) => index));
      await process.kill();
      await sandbox.stop();
    });

    // These two wait for a time that must not run, so they do it together.
    it.concurrent('SBX-9: timeouts of commands and leases stop while the sandbox is paused', async ({
      skip,
    }) => {
      skip(!harness().capabilities.pause, 'this runtime cannot pause');
      const { sandbox, freezer } = await opened({ leaseMs: 5_000 });
      const running = sandbox.exec({ argv: ['sleep', '2'], timeoutMs: 5_500 });
      await eventually(async () => (await sandbox.processes()).processes.length > 0, 'the command');
      await freezer.pause();
      await new Promise((resolve) => setTimeout(resolve, 6_000));
      await freezer.resume();
      expect(await running).toMatchObject({ exitCode: 0, timedOut: false });
      await sandbox.stop();
    });

    it.concurrent('SBX-9: a paused sandbox without a host stays paused past its lease, and the next host gets it so', async ({
      skip,
    }) => {
      skip(!harness().capabilities.pause, 'this runtime cannot pause');
      const { runtime } = harness();
      const { sandbox, freezer } = await opened({ leaseMs: 3_000 });
      const process = await sandbox.spawn({
        argv: ['/bin/sh', '-c', 'read x; echo got $x'],
        interactive: true,
      });
      await freezer.pause();
      await sandbox.release();
      await new Promise((resolve) => setTimeout(resolve, 3_500));
      expect(await stateOf(sandbox)).toBe('paused');

      const again = await runtime.adopt(sandbox.id);
      expect(again.freezer?.paused).toBe(true);
      await expect(again.exec({ argv: ['true'] })).rejects.toMatchObject({ code: 'sandbox_paused' });
      await again.freezer?.resume();
      expect((await again.exec({ argv: ['echo', 'awake'] })).stdout).toBe('awake\n');
      const joined = await again.attach(process.id);
      await joined.write('it\n');
      expect(await events(joined)).toMatchObject({ stdout: 'got it\n', exit: { exitCode: 0 } });
      await again.stop();
    });

    it('SBX-9: a sandbox whose host was killed while holding it still continues with the next host', async ({
      skip,
    }) => {
      skip(!harness().capabilities.pause, 'this runtime cannot pause');
      const { runtime } = harness();
      for (const take of [runtime.adopt, runtime.start]) {
        const { sandbox, freezer } = await opened();
        // A pause before says nothing about now.
        await freezer.pause();
        await freezer.resume();
        await freezer.hold();
        expect(await stateOf(sandbox)).toBe('running');
        await sandbox.release();
        const again = await take(sandbox.id);
        expect(again.freezer?.paused).toBe(false);
        expect((await again.exec({ argv: ['echo', 'awake'] })).stdout).toBe('awake\n');
        await again.stop();
      }
    });

    it('SBX-9: a pause cancelled at any moment leaves the sandbox running', async ({ skip }) => {
      skip(!harness().capabilities.pause, 'this runtime cannot pause');
      const { sandbox, freezer } = await opened();
      for (const ms of [0, 1, 2, 5, 10, 20, 40]) {
        const stop = new AbortController();
        setTimeout(() => stop.abort(), ms);
        const outcome = await freezer.pause({ signal: stop.signal }).then(
          () => 'paused',
          (error) => error.code,
        );
        expect(outcome).toMatch(/^(paused|cancelled)$/);
        expect(freezer.paused).toBe(outcome === 'paused');
        expect(await stateOf(sandbox)).toBe(outcome === 'paused' ? 'paused' : 'running');
        if (outcome === 'paused') {
          await expect(freezer.pause({ signal: AbortSignal.abort() })).rejects.toMatchObject({
            code: 'cancelled',
          });
          expect(await stateOf(sandbox)).toBe('paused');
          await freezer.resume();
        }
        expect((await sandbox.exec({ argv: ['echo', 'awake'] })).stdout).toBe('awake\n');
      }
      await sandbox.stop();
    });

    it('SBX-7: calls wait for the end of a hold; holding an ended sandbox fails', async ({ skip }) => {
      skip(!harness().capabilities.pause, 'this runtime cannot pause');
      const { sandbox, freezer } = await opened();
      const held = await freezer.hold();
      const running = sandbox.exec({ argv: ['echo', 'afterwards'] });
      const pausing = freezer.pause();
      expect(freezer.paused).toBe(false);
      await held[Symbol.asyncDispose]();
      await pausing;
      await held[Symbol.asyncDispose]();
      expect(await stateOf(sandbox)).toBe('paused');
      await freezer.resume();
      expect((await running).stdout).toBe('afterwards\n');

      const last = await freezer.hold();
      await harness().runtime.remove(sandbox.id);
      await last[Symbol.asyncDispose]();
      await expect(freezer.hold()).rejects.toMatchObject({ code: 'sandbox_gone' });
    });

    it('SBX-9: `start` takes over a paused sandbox and leaves it paused', async ({ skip }) => {
      skip(!harness().capabilities.pause, 'this runtime cannot pause');
      const { sandbox, freezer } = await opened();
      await freezer.pause();
      await sandbox.release();
      const again = await harness().runtime.start(sandbox.id);
      expect(again.freezer?.paused).toBe(true);
      await again.freezer?.resume();
      await again.stop();
    });

    it('SBX-9: a paused sandbox can be halted and started, stopped, and removed', async ({ skip }) => {
      skip(!harness().capabilities.pause, 'this runtime cannot pause');
      const { runtime } = harness();
      const halted = await opened();
      await halted.sandbox.files.write('kept', 'yes');
      await halted.freezer.pause();
      await halted.sandbox.halt();
      expect(await stateOf(halted.sandbox)).toBe('stopped');
      const again = await runtime.start(halted.sandbox.id);
      expect(again.freezer?.paused).toBe(false);
      expect(await again.files.readText('kept')).toBe('yes');
      await again.stop();

      const stopped = await opened();
      await stopped.freezer.pause();
      await stopped.sandbox.stop();
      expect(await stateOf(stopped.sandbox)).toBeUndefined();
      await expect(stopped.freezer.pause()).rejects.toMatchObject({ code: 'sandbox_gone' });
      await expect(stopped.freezer.resume()).rejects.toMatchObject({ code: 'sandbox_gone' });

      const removed = await opened();
      const running = removed.sandbox.exec({ argv: ['sleep', '1000'], timeoutMs: null });
      running.catch(() => {});
      await eventually(async () => (await removed.sandbox.processes()).processes.length > 0, 'the command');
      await removed.freezer.pause();
      await runtime.remove(removed.sandbox.id);
      expect(await stateOf(removed.sandbox)).toBeUndefined();
      const outcome = await running.then(
        ({ signal }) => signal,
        (error) => error.code,
      );
      expect(outcome).toMatch(/^(sandbox_gone|SIGKILL|SIGTERM)$/);
    });
  });
}
