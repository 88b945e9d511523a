/** Every console example in the docs does what the page shows: in a network of its own, in an empty home. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, it } from 'vitest';
import { difference, examplesIn } from './docs/console-blocks.ts';
import { reasonForNoWorld, runCommands } from './docs/world.ts';
import { temporaryFolder } from './temporary-folder.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const { bubblewrap } = inject('engines');
const reason = bubblewrap.available ? reasonForNoWorld() : bubblewrap.reason;

const pages = globSync(['*.md', 'docs/**/*.md'], { cwd: root })
  .sort()
  .map((page) => ({ page, examples: examplesIn(readFileSync(join(root, page), 'utf8')) }));

describe.skipIf(reason !== null)(`console examples${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  it.each(pages.filter(({ examples }) => examples.commands.length > 0))(
    '$page shows the real output of its commands',
    { timeout: 180_000 },
    async ({ page, examples }) => {
      using home = temporaryFolder();
      const results = await runCommands(examples.commands, home.path, AbortSignal.timeout(170_000));
      const wrong = examples.commands.flatMap(({ text, output, line }, index) => {
        const { code, output: given } = results[index] ?? { code: null, output: '' };
        const where = `${page}:${line} $ ${text}`;
        // A command that fails is an example only if the page shows its error.
        if (code !== 0 && output.every((shown) => shown === '…'))
          return [`${where}\nended with ${code}: ${given}`];
        // Commands without output in the page may print something.
        const differs = output.length === 0 ? undefined : difference(output, given);
        return differs === undefined ? [] : [`${where}\n${differs}\nall of it:\n${given}`];
      });
      expect(wrong.join('\n\n')).toBe('');
    },
  );
});

it('each block that is not run here names a test that exists', () => {
  const reasons = pages.flatMap(({ page, examples }) =>
    examples.notRun.map((reason) => `${page}: ${reason}`),
  );
  const tests = (reason: string) => reason.match(/\btest\/[\w/-]+(?:\.test)?\.ts\b/g) ?? [];
  expect(reasons.length).toBeGreaterThan(0);
  expect(
    reasons.filter((reason) => {
      const named = tests(reason);
      return named.length === 0 || !named.every((file) => existsSync(join(root, file)));
    }),
  ).toEqual([]);
});

describe('the reader of console examples', () => {
  it('finds commands with their output, hidden ones, and blocks that are not run', () => {
    const page = [
      ...['<!-- first:', 'touch a', '-->', '```console', '$ ls \\', '  -1', 'a', '$ true', '```', ''],
      ...['<!-- not run here: needs a terminal -->', '```console', '$ geode shell', '```'],
    ];
    expect(examplesIn(page.join('\n'))).toEqual({
      commands: [
        { text: 'touch a', output: ['…'], line: 1 },
        { text: 'ls \\\n  -1', output: ['a'], line: 5 },
        { text: 'true', output: [], line: 8 },
      ],
      notRun: ['needs a terminal'],
    });
  });

  it.each([
    [['a  b'], 'a b\n', true],
    [['a …'], 'a 17\n', true],
    [['…', 'end'], 'one\ntwo\nend\n', true],
    [['a', '…'], 'a\n', true],
    [['a'], 'b\n', false],
    [['a'], 'a\nb\n', false],
    [['a', 'b'], 'a\n', false],
    [['…', 'end'], 'one\n', false],
  ])('%j for %j is the same: %s', (shown, given, isSame) => {
    expect(difference(shown, given) === undefined).toBe(isSame);
  });
});
