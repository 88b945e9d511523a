import type { RuntimesOptions } from '../../src/runtimes/index.ts';
import { type LanguageName, languageNames } from '../../src/seams/run.ts';
import type { Runtime } from '../../src/seams/runtime.ts';
import { openRuns } from './harness.ts';

const programs: Readonly<Record<LanguageName, string>> = {
  python: 'print(42)',
  javascript: 'console.log(42)',
  typescript: 'const answer: number = 42; console.log(answer)',
  shell: 'echo 42',
  rust: 'fn main() { println!("42") }',
  go: 'package main\nimport "fmt"\nfunc main() { fmt.Println(42) }',
};

/** Which languages this machine has no working toolchain for, with the reason: found by trying. */
export async function missingTools(
  make: (options: RuntimesOptions) => Runtime,
): Promise<Readonly<Partial<Record<LanguageName, string>>>> {
  const { runs, close } = await openRuns(make, {}, { pool: { floor: 0, ceiling: 0 } });
  try {
    const tried = languageNames.map(async (language) => {
      const reason = await runs.run(programs[language], language).then(
        ({ success, stderr, compile }) => (success ? undefined : firstLine(compile?.stderr || stderr)),
        (error: Error) => firstLine(error.message),
      );
      return [language, reason] as const;
    });
    const reasons = await Promise.all(tried);
    return Object.fromEntries(
      reasons.flatMap(([name, reason]) => (reason === undefined ? [] : [[name, reason]])),
    );
  } finally {
    await close();
  }
}

/** The line that says what is wrong, if one does. */
function firstLine(text: string): string {
  const lines = text.trim().split('\n');
  return (lines.find((line) => /error/i.test(line)) ?? lines[0])?.slice(0, 120) || 'it does not work here';
}
