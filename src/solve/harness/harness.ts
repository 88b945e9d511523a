import { readFileSync } from 'node:fs';
import { GeodeError } from '../../base/errors.ts';
import type { LanguageName } from '../../seams/run.ts';

/** A run that loads a solution and runs its tests. */
export interface Harness {
  /** The language of the harness, which may differ from the solution's. */
  readonly language: LanguageName;
  readonly code: string;
  readonly files: Readonly<Record<string, string>>;
  readonly stdin: string;
  /** Environment for the tests themselves. */
  readonly env: Readonly<Record<string, string>>;
}

/** Exists in every sandbox with walls. As `guest apart` it starts a program that cannot look into other processes. */
const guestInside = '/.geode/guest';

interface Tested {
  readonly solution: string;
  readonly tests: string;
  readonly secret: string;
  /** Environment that shows the solution where its packages are. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Builds the run. The tests and a secret are sent over stdin to a process without the solution. The solution runs in
 * a separate process that executes the calls of the tests and contains neither the tests nor the expected values. The
 * secret is printed after the last test, so a solution that exits early, prints "ok" or changes files cannot pass.
 */
export function harnessFor(language: LanguageName, tested: Tested): Harness {
  const build = harnesses[language];
  if (build === undefined) {
    throw new GeodeError(
      'invalid_input',
      `Tests cannot be run for ${language}; give the expected output instead.`,
      {
        hint: `Tests work for ${Object.keys(harnesses).join(', ')}. For other languages give the expected output.`,
      },
    );
  }
  return build(tested);
}

const harnesses: Partial<Record<LanguageName, (tested: Tested) => Harness>> = {
  python: ({ solution, tests, secret, env }) => ({
    language: 'python',
    code: program('python-tests.py'),
    files: { 'solution.py': solution },
    stdin: JSON.stringify({
      tests,
      secret,
      env,
      packages: ['packages'],
      answer: program('python-answer.py'),
      guest: guestInside,
    }),
    env: {},
  }),
  javascript: (tested) => scriptHarness('solution.mjs', tested),
  typescript: (tested) => scriptHarness('solution.mts', tested),
  shell: ({ solution, tests, secret, env }) => ({
    language: 'shell',
    code: shellHarness,
    files: { 'solution.sh': solution },
    stdin: `${secret}\n${tests}\n`,
    env,
  }),
};

function program(name: string): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8');
}

export const testableLanguages: readonly string[] = Object.keys(harnesses);

/** Tests import the solution's file, or use the names that it declares, exported or not. */
function scriptHarness(file: string, { solution, tests, secret, env }: Tested): Harness {
  return {
    language: 'javascript',
    code: program('script-tests.mjs'),
    files: { [file]: `${solution}\n${namesOf(solution)}` },
    stdin: JSON.stringify({ file, tests, secret, answer: program('script-answer.mjs'), guest: guestInside }),
    env,
  };
}

/** A name that does not exist is undefined. */
function namesOf(solution: string): string {
  const declarations =
    /^(?:export\s+)?(?:default\s+)?(?:async\s+)?(?:function\*?|class|const|let|var)\s+([A-Za-z_$][\w$]*)/gm;
  const names = new Set([...solution.matchAll(declarations)].map(([, name = '']) => name));
  const getters = [...names].map(
    (name) => `get ${name}() { return typeof ${name} === 'undefined' ? undefined : ${name}; }`,
  );
  return `export const geodeNames = { ${getters.join(', ')} };`;
}

/**
 * The tests are a shell script that calls ./solution.sh, each time as a new process. The guest starts its
 * interpreter, which cannot read the tests in the memory of this process.
 */
const shellHarness = `
IFS= read -r secret
tests=$(cat)
exec </dev/null
if [ -x ${guestInside} ]; then
  IFS= read -r first <solution.sh || true
  case "$first" in
  '#!'*) sed -i '1s|^#! *|#!${guestInside} apart |' solution.sh ;;
  *) { echo '#!${guestInside} apart /bin/sh'; cat solution.sh; } >solution.sh.new && mv solution.sh.new solution.sh ;;
  esac
fi
chmod +x solution.sh
# Not before \`||\`: there a shell takes no notice of -e.
( set -e; secret=; eval "$tests" )
status=$?
[ "$status" = 0 ] || exit "$status"
printf '\\n%s\\n' "$secret"
`;
