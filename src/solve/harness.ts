import { GeodeError } from '../core/errors.ts';
import type { LanguageName } from '../core/run.ts';

/** A run that loads a solution and puts it to its tests. */
export interface Harness {
  /** The language that runs the harness, which may be another than the solution's. */
  readonly language: LanguageName;
  readonly code: string;
  readonly files: Readonly<Record<string, string>>;
  readonly stdin: string;
}

/**
 * Builds the run. The tests and a secret come through stdin, which the harness reads to its end before it loads the
 * solution: neither is in a file or a variable that the solution can look up by name. The secret is printed after
 * the last test, so a solution that exits early, prints "ok", or changes files cannot pass. Code that searches the
 * memory of its own process still can; docs/solve.md says so.
 */
export function harnessFor(language: LanguageName, solution: string, tests: string, secret: string): Harness {
  const build = harnesses[language];
  if (build === undefined) {
    throw new GeodeError(
      'invalid_input',
      `Tests cannot be run for ${language}; say what it must print instead.`,
      {
        hint: `Tests work for ${Object.keys(harnesses).join(', ')}. For others give the expected output.`,
      },
    );
  }
  return build(solution, tests, secret);
}

const harnesses: Partial<Record<LanguageName, (solution: string, tests: string, secret: string) => Harness>> =
  {
    python: (solution, tests, secret) => ({
      language: 'python',
      code: pythonHarness,
      files: { 'solution.py': solution },
      stdin: JSON.stringify({ tests, secret }),
    }),
    javascript: (solution, tests, secret) => scriptHarness('solution.mjs', solution, tests, secret),
    typescript: (solution, tests, secret) => scriptHarness('solution.mts', solution, tests, secret),
    shell: (solution, tests, secret) => ({
      language: 'shell',
      code: shellHarness,
      files: { 'solution.sh': solution },
      stdin: `${secret}\n${tests}\n`,
    }),
  };

export const testableLanguages: readonly string[] = Object.keys(harnesses);

/** The tests see the names of the solution, and can also import it as `solution`. */
const pythonHarness = `
def main():
    import json, os, sys, types
    given = json.load(sys.stdin)
    sys.stdin.close()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdin = open(0, closefd=False)
    tests, secret = compile(given.pop("tests"), "tests.py", "exec"), given.pop("secret")
    solution = types.ModuleType("solution")
    solution.__file__ = "solution.py"
    sys.modules["solution"] = solution
    with open("solution.py", encoding="utf-8") as file:
        exec(compile(file.read(), "solution.py", "exec"), solution.__dict__)
    exec(tests, {**solution.__dict__, "__name__": "tests"})
    print("\\n" + secret, flush=True)
main()
`;

/** Tests that import the solution's file get it as it is; others are put below its text and see its names. */
function scriptHarness(file: string, solution: string, tests: string, secret: string): Harness {
  return {
    language: 'javascript',
    code: `
import { readFileSync, unlinkSync, writeFileSync } from 'node:fs';
const { file, tests, secret } = JSON.parse(readFileSync(0, 'utf8'));
const apart = /['"]\\.\\/solution(?:\\.\\w+)?['"]/.test(tests);
const name = './tests-' + Math.random().toString(36).slice(2) + file.slice('solution'.length);
const text = apart
  ? tests.replace(/(['"])\\.\\/solution(?:\\.\\w+)?\\1/g, '$1./' + file + '$1')
  : readFileSync(file, 'utf8') + '\\n' + tests;
writeFileSync(name, text);
try {
  await import(name);
} finally {
  unlinkSync(name);
}
process.stdout.write('\\n' + secret + '\\n');
`,
    files: { [file]: solution },
    stdin: JSON.stringify({ file, tests, secret }),
  };
}

/** The tests are a shell script that calls ./solution.sh, each time as a process of its own. */
const shellHarness = `
IFS= read -r secret
tests=$(cat)
exec </dev/null
chmod +x solution.sh
( set -e; eval "$tests" ) || exit $?
printf '\\n%s\\n' "$secret"
`;
