import { describe, expect, it } from 'vitest';
import type { Bench } from '../language-suite.ts';

/** RUN-2, RUN-3, RUN-5, RUN-9: input and output. */
export function ioBehaviour({ harness, language, source, show }: Bench): void {
  describe('input and output', () => {
    it('RUN-1 RUN-3: returns output, outcome and exit code of a program that prints', async () => {
      const result = await show('hello');
      expect(result).toMatchObject({
        outcome: 'succeeded',
        success: true,
        exitCode: 0,
        signal: null,
        stdout: '42\n',
        stderr: '',
        truncated: false,
        language,
      });
      expect(result.durationMs).toBeGreaterThan(0);
      expect(result.timings.totalMs).toBeGreaterThan(result.durationMs);
    });

    it('RUN-3: keeps stdout, stderr and the exit code apart', async () => {
      expect(await show('streams')).toMatchObject({
        outcome: 'failed',
        success: false,
        stdout: 'out\n',
        stderr: 'err\n',
        exitCode: 7,
      });
    });

    it('RUN-3: a crash is a failure with its message on stderr', async () => {
      const { success, exitCode, stderr } = await show('crash');
      expect(success).toBe(false);
      expect(exitCode).not.toBe(0);
      expect(stderr).toContain('boom');
    });

    it('RUN-3: distinguishes a death by signal from an exit', async () => {
      expect(await show('die')).toMatchObject({ outcome: 'killed', exitCode: null, signal: 'SIGKILL' });
    });

    it('RUN-2: reads stdin, and without any it is empty', async () => {
      expect((await show('echo', [], { stdin: 'líne\nno newline' })).stdout).toBe('líne\nno newline');
      expect((await show('echo')).stdout).toBe('');
    });

    it('RUN-2: reads megabytes of stdin', async () => {
      expect((await show('count', [], { stdin: Buffer.alloc(5_000_000) })).stdout).toBe('5000000\n');
    });

    it('RUN-2: may leave stdin unread', async () => {
      expect((await show('hello', [], { stdin: Buffer.alloc(5_000_000) })).stdout).toBe('42\n');
    });

    it('RUN-2: receives its arguments unchanged', async () => {
      const words = ['a b', '$HOME', "it's", '"', '\\', '*', '--flag', 'ü', 'two\nlines'];
      expect((await show('args', words)).stdout).toBe(words.map((word) => `<${word}>\n`).join(''));
    });

    it("RUN-2: gets its environment and nothing of the host's", async () => {
      process.env.HOST_ONLY_SECRET = 'x';
      const { stdout } = await show('env', [], { env: { GREETING: 'hi there' } });
      const [greeting, names] = stdout.split('\n');
      expect(greeting).toBe('hi there');
      expect(names?.split(' ')).not.toContain('HOST_ONLY_SECRET');
    });

    it('RUN-3: prints text of any writing system', async () => {
      expect((await show('unicode')).stdout).toBe('héllo 世界 🦀\n');
    });

    it('RUN-3: prints any byte', async () => {
      const { bytes } = await show('bytes');
      expect([...bytes.stdout]).toEqual(Array.from({ length: 256 }, (_, index) => index));
    });

    it('RUN-5: prints 10 MB whole', async () => {
      const { bytes, truncated } = await show('flood');
      expect({ length: bytes.stdout.length, truncated }).toEqual({ length: 10_000_000, truncated: false });
    });

    it('RUN-5: counts the bytes above the output limit', async () => {
      const { stdout, stderr, truncated, dropped } = await show('both', [], { outputLimitBytes: 250_000 });
      expect(stdout).toBe('o'.repeat(250_000));
      expect(stderr).toBe('e'.repeat(250_000));
      expect({ truncated, dropped }).toEqual({
        truncated: true,
        dropped: { stdout: 750_000, stderr: 750_000 },
      });
    });

    it('RUN-9: streams output: the first line arrives before the program prints the last', async () => {
      const mayEnd = Promise.withResolvers<void>();
      async function* held() {
        yield Buffer.from('x');
        await mayEnd.promise;
      }
      const seen: string[] = [];
      for await (const event of harness().runs.stream(source(), language, {
        argv: ['first'],
        stdin: held(),
      })) {
        if (event.type !== 'stdout') continue;
        seen.push(Buffer.from(event.bytes).toString());
        mayEnd.resolve();
      }
      expect(seen[0]).toMatch(/^first/);
      expect(seen.join('')).toBe('first\nlast\n');
    });
  });
}
