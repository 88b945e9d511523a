import { describe, expect, it } from 'vitest';
import type { LanguageName } from '../../../src/seams/run.ts';
import type { Bench } from '../language-suite.ts';

interface Words {
  /** Prints `a` and `b` on lines of their own, in at least two lines of source. */
  readonly program: string;
  readonly comment: string;
  readonly broken: string;
}

const words: Readonly<Record<LanguageName, Words>> = {
  python: { program: 'for word in "ab":\n    print(word)\n', comment: '#', broken: 'print(' },
  javascript: {
    program: 'for (const word of "ab") {\n  console.log(word);\n}\n',
    comment: '//',
    broken: 'let (',
  },
  typescript: {
    program: 'const words: string[] = ["a", "b"];\nfor (const word of words) console.log(word);\n',
    comment: '//',
    broken: 'let (: string',
  },
  shell: { program: 'for word in a b; do\n  echo $word\ndone\n', comment: '#', broken: 'if' },
  rust: {
    program: 'fn main() {\n    for word in ["a", "b"] {\n        println!("{}", word);\n    }\n}\n',
    comment: '//',
    broken: 'fn main() { let x: u8 = "no"; }',
  },
  go: {
    program: 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Println("a")\n\tfmt.Println("b")\n}\n',
    comment: '//',
    broken: 'package main\nfunc main() { x }',
  },
};

/** RUN-1: whatever the source looks like. */
export function sourceBehaviour({ language, run }: Bench): void {
  const { program, comment, broken } = words[language];
  const compiled = language === 'rust' || language === 'go';

  describe('source', () => {
    it('RUN-1: runs with Windows line ends', async () => {
      expect((await run(program.replaceAll('\n', '\r\n'))).stdout).toBe('a\nb\n');
    });

    it('RUN-1: runs with several megabytes', async () => {
      const padding = `${comment} ${'x'.repeat(97)}\n`.repeat(40_000);
      expect((await run(`${program}${padding}`)).stdout).toBe('a\nb\n');
    });

    it('RUN-1: succeeds when empty, or fails to compile', async () => {
      const { outcome, stdout } = await run('');
      expect({ outcome, stdout }).toEqual({ outcome: compiled ? 'compile-failed' : 'succeeded', stdout: '' });
    });

    it('RUN-1: ends with an outcome when it contains a NUL byte', async () => {
      const { outcome, timedOut } = await run(`${program}${comment} \0\n`);
      expect(timedOut).toBe(false);
      expect(['succeeded', 'failed', 'compile-failed']).toContain(outcome);
    });

    it('RUN-1 RUN-3: broken source fails with the reason', async () => {
      const result = await run(broken);
      expect(result.success).toBe(false);
      expect(result.exitCode).not.toBe(0);
      if (compiled) {
        expect(result).toMatchObject({ outcome: 'compile-failed', stdout: '', stderr: '' });
        expect(result.compile?.stderr).toContain('main.');
      } else {
        expect(result).toMatchObject({ outcome: 'failed', compile: null });
        expect(result.stderr).not.toBe('');
      }
    });
  });
}
