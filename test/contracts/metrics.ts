import { describe, expect, it } from 'vitest';
import { type Usage, watchMetrics } from '../../src/sandboxes/metrics.ts';
import type { Sandbox } from '../../src/seams/sandbox.ts';
import type { Harness } from './harness.ts';

const everyMs = 100;
const megabyte = 1024 ** 2;

/** SBX-10: what a sandbox uses, as it goes. */
export function metricsContract(harness: () => Harness): void {
  describe('metrics', () => {
    const firstWhere = async (sandbox: Sandbox, holds: (usage: Usage) => boolean, what: string) => {
      const signal = AbortSignal.timeout(60_000);
      let last: Usage | undefined;
      try {
        for await (const usage of watchMetrics(sandbox, everyMs, { signal })) {
          last = usage;
          if (holds(usage)) return usage;
        }
      } catch (error) {
        throw new Error(`${what} was not seen; last: ${JSON.stringify(last)}`, { cause: error });
      }
      throw new Error(`the sandbox ended before ${what}`);
    };

    it('SBX-10: shows processor time, memory and processes as they come and go', async () => {
      const { capabilities } = harness();
      const sandbox = await harness().open();
      const quiet = await firstWhere(sandbox, ({ cpus }) => cpus.used < 0.3, 'silence');
      expect(quiet).toMatchObject({
        processes: 0,
        cpus: { limit: capabilities.limits.cpus ? 1 : null },
        memoryBytes: { limit: capabilities.limits.memory ? 512 * megabyte : null },
        pids: { limit: capabilities.limits.pids ? 256 : null },
      });
      const work = 'import os\nheld = b"x" * 100_000_000\nos.fork()\nwhile True: pass';
      const process = await sandbox.spawn({ argv: ['python3', '-c', work], timeoutMs: null });
      const busy = await firstWhere(
        sandbox,
        ({ cpus, memoryBytes, processes }) =>
          cpus.used > 0.3 && processes >= 2 && memoryBytes.used - quiet.memoryBytes.used > 80 * megabyte,
        'the work',
      );
      expect(busy.pids.used).toBeGreaterThanOrEqual(3);
      // In gVisor's accounts a process uses the processor also while the machine makes it wait.
      if (capabilities.limits.cpus && !harness().isGvisor) expect(busy.cpus.used).toBeLessThan(2);
      await process.kill();
      await firstWhere(
        sandbox,
        ({ cpus, processes }) => cpus.used < 0.3 && processes === 0,
        'the silence after',
      );
      await sandbox.stop();
    });

    it('SBX-10: shows the disk of a workspace with a disk limit', async ({ skip }) => {
      skip(!harness().capabilities.limits.disk, 'this runtime cannot limit the disk');
      const sandbox = await harness().open({ limits: { diskBytes: 128 * megabyte } });
      const empty = await firstWhere(sandbox, ({ diskBytes }) => diskBytes !== null, 'a disk');
      expect(empty.diskBytes?.used).toBeLessThan(8 * megabyte);
      expect(empty.diskBytes?.limit).toBeGreaterThan(100 * megabyte);
      expect(empty.diskBytes?.limit).toBeLessThanOrEqual(128 * megabyte);
      await sandbox.files.write('big', Buffer.alloc(50 * megabyte));
      const used = await firstWhere(
        sandbox,
        ({ diskBytes }) => (diskBytes?.used ?? 0) > 50 * megabyte,
        'the file',
      );
      expect(used.diskBytes?.limit).toBe(empty.diskBytes?.limit);
      await sandbox.stop();
    });

    it('SBX-10: ends with the sandbox, by a cancel, and waits while it is paused', async () => {
      const sandbox = await harness().open();
      const stop = new AbortController();
      const watching = (async () => {
        for await (const usage of watchMetrics(sandbox, everyMs, { signal: stop.signal }))
          if (usage.at > 0) stop.abort();
      })();
      await expect(watching).rejects.toMatchObject({ code: 'cancelled' });

      if (sandbox.freezer !== undefined) {
        await sandbox.freezer.pause();
        const next = watchMetrics(sandbox, everyMs)[Symbol.asyncIterator]().next();
        await sandbox.freezer.resume();
        expect((await next).value?.processes).toBe(0);
      }
      const usages: Usage[] = [];
      const all = (async () => {
        for await (const usage of watchMetrics(sandbox, everyMs)) {
          usages.push(usage);
          if (usages.length === 2) await sandbox.stop();
        }
      })();
      await all;
      expect(usages).toHaveLength(2);
    });
  });
}
