import { expect, it } from 'vitest';
import { begunBeforeTimeout } from '../../contracts/harness.ts';
import type { Bench } from '../language-suite.ts';

/**
 * Where another suite shows all that a language does, and another language all that the runtime does: that the
 * two of them meet.
 */
export function briefBehaviour({ language, show, run }: Bench): void {
  it('RUN-1 RUN-2: prints, and receives its arguments unchanged', async () => {
    const words = ['a b', '$HOME', 'ü', 'two\nlines'];
    const result = await show('args', words);
    expect(result).toMatchObject({ outcome: 'succeeded', success: true, stderr: '', language });
    expect(result.stdout).toBe(words.map((word) => `<${word}>\n`).join(''));
  });

  it('RUN-3: keeps stdout, stderr and the exit code apart', async () => {
    expect(await show('streams')).toMatchObject({ stdout: 'out\n', stderr: 'err\n', exitCode: 7 });
  });

  it('RUN-4: stops an endless loop at its timeout, and keeps its earlier output', async () => {
    const result = await begunBeforeTimeout(2_000, (timeoutMs) => show('loop', [], { timeoutMs }));
    expect(result).toMatchObject({
      outcome: 'timed-out',
      timedOut: true,
      stdout: 'partial\n',
    });
  });

  it('RUN-3: broken source fails with the reason', async () => {
    const { success, stderr, compile } = await run('( this is ! no } program');
    expect(success).toBe(false);
    expect(compile?.stderr || stderr).not.toBe('');
  });
}
