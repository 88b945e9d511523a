import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { begunBeforeTimeout, eventually } from '../../contracts/harness.ts';
import type { Bench } from '../language-suite.ts';

const megabyte = 1024 ** 2;

/** RUN-4, RUN-5, RUN-6, RT-12: programs that take what they can get. */
export function hostileBehaviour({ harness, show }: Bench): void {
  describe('hostile', () => {
    it('RUN-4: stops an endless loop at its timeout, and keeps its earlier output', async () => {
      const result = await begunBeforeTimeout(1_000, (timeoutMs) => show('loop', [], { timeoutMs }));
      expect(result).toMatchObject({
        outcome: 'timed-out',
        success: false,
        timedOut: true,
        stdout: 'partial\n',
      });
      expect(result.durationMs).toBeGreaterThanOrEqual(1_000);
    });

    it('RUN-4: after a timeout nothing of it runs, not even what left its session', async () => {
      const mark = newMark();
      const result = await begunBeforeTimeout(1_000, (timeoutMs) => show('stubborn', [mark], { timeoutMs }));
      expect(result).toMatchObject({ outcome: 'timed-out', stdout: 'started\n' });
      expect(processesSaying(mark)).toEqual([]);
      expect(await harness().runtime.traces()).not.toContain(result.sandbox.id);
    });

    it('RUN-6: a child that outlives its parent does not delay the result, and ends with the run', async () => {
      const mark = newMark();
      const result = await show('orphan', [mark]);
      expect(result).toMatchObject({ outcome: 'succeeded', stdout: 'parent done\n' });
      await eventually(async () => processesSaying(mark).length === 0, 'the end of the child');
      await eventually(
        async () => !(await harness().runtime.traces()).includes(result.sandbox.id),
        'the end of the sandbox',
      );
    });

    it('RUN-5: endless output is cut, counted, and does not grow the host', async () => {
      const before = process.memoryUsage().rss;
      const result = await begunBeforeTimeout(1_500, (timeoutMs) =>
        show('forever', [], { timeoutMs, outputLimitBytes: 100_000 }),
      );
      expect(result).toMatchObject({ outcome: 'timed-out', truncated: true });
      expect(result.stdout.length).toBe(100_000);
      expect(result.dropped.stdout).toBeGreaterThan(0);
      expect(process.memoryUsage().rss - before).toBeLessThan(200 * megabyte);
    });

    it('RT-12 RUN-3: a memory bomb is killed, with the reason', async ({ skip }) => {
      skip(!harness().capabilities.limits.memory, 'this runtime cannot limit memory');
      const result = await show('memory', [], { timeoutMs: 120_000 });
      expect(result).toMatchObject({
        outcome: 'out-of-memory',
        success: false,
        oomKilled: true,
        timedOut: false,
      });
    });

    it('RUN-4: a fork bomb stops at the process limit', async ({ skip }) => {
      skip(!harness().capabilities.limits.pids, 'this runtime cannot limit processes');
      const result = await show('forks', [], { timeoutMs: 120_000, limits: { pids: 64 } });
      // An interpreter that needs a thread for its report may fail at the process limit instead, with a message.
      expect(`${result.stdout}${result.stderr}`).toMatch(
        /^wall$|fork|thread|resource temporarily unavailable|EAGAIN/im,
      );
      expect(result.timedOut).toBe(false);
    });

    it('reports a full disk in the run, not as an error of the host', async ({ skip }) => {
      skip(!harness().capabilities.isolation, 'this runtime has no walls');
      const { stdout } = await show('disk', ['/tmp/fill'], { limits: { memoryBytes: 1024 * megabyte } });
      expect(stdout).toBe('full\n');
    });

    it('endless recursion ends by itself', async () => {
      const { success, timedOut } = await show('recurse', [], { timeoutMs: 120_000 });
      expect({ success, timedOut }).toEqual({ success: false, timedOut: false });
    });

    it('a program that closes its descriptors still returns its exit code', async () => {
      expect(await show('close')).toMatchObject({ exitCode: 5, stdout: '' });
    });
  });
}

let marks = 0;

/** A number of seconds to sleep that no other test sleeps. */
function newMark(): string {
  marks += 1;
  return String(3_000_000 + (process.pid % 100_000) * 1_000 + marks);
}

/** Sandboxes share the kernel, so the host sees their processes. */
function processesSaying(word: string): readonly string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(-2).includes(word);
    } catch {
      return false;
    }
  });
}
