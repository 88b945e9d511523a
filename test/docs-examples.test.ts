/** Every console example in the docs does what the page shows: in a network of its own, in an empty home. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, it } from 'vitest';
import { commands } from '../src/cli/command-list.ts';
import { wrongWords } from './docs/command-words.ts';
import { difference, examplesIn } from './docs/console-blocks.ts';
import { reasonForNoWorld, runCommands } from './docs/world.ts';
import { installPackages, whyNoPackages } from './engine/apt.ts';
import { locked } from './engine/lock.ts';
import { programsOfDocs } from './engine/toolchains.ts';
import { temporaryFolder } from './temporary-folder.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const { bubblewrap } = inject('engines');
const reason = bubblewrap.available ? reasonForNoWorld() : bubblewrap.reason;

const pages = globSync(['*.md', 'docs/**/*.md'], { cwd: root })
  .sort()
  .map((page) => ({ page, examples: examplesIn(readFileSync(join(root, page), 'utf8')) }));

describe.skipIf(reason !== null)(`console examples${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  it.each(pages.filter(({ examples }) => examples.commands.length > 0))(
    'OPS-6: $page shows the real output of its commands',
    { timeout: 1_200_000 },
    async ({ page, examples }) => {
      using home = temporaryFolder();
      const results = await runCommands(examples.commands, home.path, AbortSignal.timeout(1_180_000));
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

describe('commands that are not run with their page', () => {
  const shown = (kind: 'notRun' | 'templates' | 'inline' | 'stray') =>
    pages.flatMap(({ page, examples }) =>
      examples[kind].map((each) => ({ ...each, where: `${page}:${each.line}` })),
    );
  const reasons = pages.flatMap(({ page, examples }) =>
    examples.notRun.map(({ reason }) => `${page}: ${reason}`),
  );

  it('OPS-6: stand in a console block that names the test which runs them, or in a block of sh that begins with its need', () => {
    const tests = (reason: string) => reason.match(/\btest\/[\w/-]+(?:\.test)?\.ts\b/g) ?? [];
    expect(reasons.length).toBeGreaterThan(0);
    expect(
      reasons.filter((reason) => {
        const named = tests(reason);
        return named.length === 0 || !named.every((file) => existsSync(join(root, file)));
      }),
    ).toEqual([]);
    const needless = shown('templates').filter(({ text }) => !/^# Needs .+\.\n/.test(text));
    expect(needless.map(({ where }) => where)).toEqual([]);
    // The page of commands is made of their help.
    const stray = shown('stray').filter(({ where }) => !where.startsWith('docs/commands.md'));
    expect(stray.map(({ where, text }) => `${where} ${text}`)).toEqual([]);
  });

  const whyNot = whyNoPackages();
  const title = `OPS-6: have only commands, options, variables and files that exist${whyNot === null ? '' : ` (skipped: ${whyNot})`}`;
  it.skipIf(whyNot !== null)(title, { timeout: 900_000 }, async () => {
    await locked('setup', () => installPackages(programsOfDocs));
    const ofToday = shown('inline').filter(({ where }) => !where.startsWith('CHANGELOG.md'));
    const all = [...shown('notRun'), ...shown('templates'), ...ofToday];
    const help = (await Promise.all(commands.map(({ load }) => load()))).flatMap(({ name, examples }) =>
      examples
        // Keys of a terminal are no command.
        .filter(([text]) => !text.startsWith('(keys)'))
        .map(([text]) => ({ text, where: `geode ${name} --help` })),
    );
    const wrong = await Promise.all(
      [...all, ...help].map(async ({ text, where }) =>
        (await wrongWords(text)).map((words) => `${where} ${words}`),
      ),
    );
    expect(wrong.flat()).toEqual([]);
  });

  it.each([
    ['geode runn python', 'there is no command "geode runn python"'],
    ['echo 1 | geode run --alow x python', "Unknown option '--alow'"],
    ['docker compose exec geode geode statsu', 'there is no command "geode statsu"'],
    ['GEODE_PROT=1 geode gateway', 'nothing uses the variable GEODE_PROT'],
    ['curl --no-such-option x', 'its help has no --no-such-option'],
    ['npx vitest run test/no-such.test.ts', 'there is no file test/no-such.test.ts'],
    ['npm run no-such', 'there is no script no-such'],
  ])('%s is refused', async (text, reason) => {
    expect((await wrongWords(text)).join()).toContain(reason);
  });
});

describe('the reader of console examples', () => {
  it('finds commands with their output, hidden ones, and blocks that are not run', () => {
    const page = [
      ...['<!-- first:', 'touch a', '-->', '```console', '$ ls \\', '  -1', 'a', '$ true', '```', ''],
      ...['<!-- not run here: test/a.test.ts -->', '```console', '$ geode shell', '```'],
      ...['```sh', '# Needs a cluster.', 'kubectl get pods', '```'],
      ...['```', 'a picture', 'npm test now', '```', 'Say `geode status` and `ls`.'],
    ];
    expect(examplesIn(page.join('\n'))).toEqual({
      commands: [
        { text: 'touch a', output: ['…'], line: 1 },
        { text: 'ls \\\n  -1', output: ['a'], line: 5 },
        { text: 'true', output: [], line: 8 },
      ],
      notRun: [{ reason: 'test/a.test.ts', text: 'geode shell', line: 13 }],
      templates: [{ text: '# Needs a cluster.\nkubectl get pods', line: 16 }],
      inline: [{ text: 'geode status', line: 23 }],
      stray: [{ text: 'npm test now', line: 21 }],
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
