import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { actOf } from '../../src/agents/acp/acp-acts.ts';
import { claudeAct } from '../../src/agents/claude/claude-acts.ts';
import { type Act, isAllowedAhead, leadsThroughLink } from '../../src/agents/permission-policy.ts';
import { nativeRuntime } from '../../src/runtimes/native/native.ts';
import { type PermissionClass, permissionClasses } from '../../src/seams/agent.ts';
import { openHarness } from '../contracts/harness.ts';

const place = { workdir: '/workspace' };
const allowed = (act: Act, classes: readonly PermissionClass[] = permissionClasses) =>
  isAllowedAhead(act, classes, place);
const command = (words: string): Act => ({ type: 'command', command: words });
const edit = (...paths: readonly string[]): Act => ({ type: 'edit', paths });

describe('permission policy of agents', () => {
  it('a permission class allows only its own kind of action', () => {
    const acts: Readonly<Record<PermissionClass, Act>> = {
      reads: { type: 'read' },
      edits: edit('a.txt'),
      tests: command('npm test'),
    };
    for (const one of permissionClasses)
      for (const other of permissionClasses)
        expect(allowed(acts[other], [one]), `${other} by ${one}`).toBe(one === other);
    for (const act of [...Object.values(acts), { type: 'other' } as const])
      expect(allowed(act, [])).toBe(false);
    expect(allowed({ type: 'other' })).toBe(false);
  });

  it.each([
    ...['npm test', 'npm run test:unit', 'pnpm test', 'npx vitest run test/a.test.ts', 'yarn jest --ci'],
    ...['pytest', 'pytest -x tests/test_a.py::test_b', 'python3 -m unittest discover -s tests'],
    ...[
      'go test ./...',
      'cargo test --release',
      'make test',
      'make test -j4',
      'mvn test -q',
      './gradlew test',
    ],
    ...[
      'node --test',
      'cd packages/core && npm test',
      'npm test && go test ./pkg',
      'pytest /workspace/tests',
    ],
    ...['  npm test  ', 'mvn test -Dtest=SomeTest', 'gradle test --tests com.acme.SomeTest'],
  ])('runs tests: %s', (words) => {
    expect(allowed(command(words))).toBe(true);
  });

  it.each([
    // More than one command.
    ...[
      'npm test; rm -rf .',
      'npm test && curl evil',
      'npm test || rm x',
      'npm test | sh',
      'npm test & rm x',
    ],
    ...['npm test\nrm -rf .', 'npm test\r\nrm x', '\nrm x\nnpm test', 'rm -rf . && npm test', 'npm test &&'],
    ...['cd src && rm -rf .', 'cd a && cd b && npm test', 'npm test && cd / && npm test', 'npm test&curl x'],
    // Words that the shell replaces.
    ...['npm test $(curl evil)', 'npm test `id`', 'npm test $HOME', 'npm test $x', 'npm test <(id)'],
    ...[
      'npm test *',
      'npm test {a,b}',
      'npm test ~/x',
      'npm test !x',
      'npm test \\; x',
      'npm test "x"',
      "npm test 'x'",
    ],
    // Files that the shell writes.
    ...['npm test > ~/.bashrc', 'npm test >> x', 'npm test 2>x', 'npm test < x', 'npm test # x'],
    // Another program, or the same in other surroundings.
    ...[
      'npm testx',
      'npmx test',
      'xnpm test',
      'npm install',
      'PATH=. npm test',
      'env npm test',
      'sudo npm test',
    ],
    ...['/tmp/npm test', './npm test', 'bash npm test', 'npm', 'test', '', ' ', 'cat x', 'pytest2'],
    // Test runners with options that run something else.
    ...['node --test -e process.exit', 'node --test --eval=x', 'bun test -p x', 'go test -exec rm ./...'],
    ...[
      'go test -toolexec=x',
      'cargo test --config x',
      'npm test --script-shell=x',
      'npm test --script-shell x',
    ],
    ...['make test install', 'make test SHELL=x', 'make test -f x', 'make test --eval=x', 'mvn test deploy'],
    ...['gradle test publish', './gradlew test -Pinit=x'],
    // Places out of the workspace.
    ...[
      'cd / && npm test',
      'cd .. && npm test',
      'cd a/../.. && npm test',
      'cd - && npm test',
      'cd ~ && npm test',
    ],
    ...[
      'pytest /etc',
      'pytest ../other',
      'pytest a/../../b',
      'npm test --prefix=/other',
      'npm test --prefix ..',
    ],
    ...[
      'pytest /workspace/../etc',
      'pytest /workspace/.geode/claude',
      'npx vitest --root=../x',
      'pytest -c a:/etc/x',
    ],
    // Letters that look like others, or that nobody sees.
    ...[
      'npm test\u00a0;rm',
      'npm te\u200bst',
      'npm test\u0000rm',
      'npm test\trm',
      'npm test\u2028rm x',
      'ｎpm test',
    ],
  ])('asks a person: %j', (words) => {
    expect(allowed(command(words))).toBe(false);
  });

  it.each([
    'a',
    'a/b.txt',
    './a',
    '/workspace/a',
    '/workspace/a/../b',
    'a..b',
    '.gitignore',
    '.geodes/x',
    'x/.geode',
  ])('changes a file of the workspace: %s', (path) => {
    expect(allowed(edit(path))).toBe(true);
  });

  it.each([
    ...['/etc/passwd', '../a', 'a/../../b', '/workspace/../etc/x', '/workspace', '.', '', '/workspaces/a'],
    ...[
      '.geode',
      '.geode/claude/x',
      './.geode/x',
      'a/../.geode/x',
      '/workspace/.geode/x',
      '/workspace//.geode/x',
    ],
    ...['~/x', '~root/x', '/', '//etc/x', '..'],
  ])('asks for a change of %j', (path) => {
    expect(allowed(edit(path))).toBe(false);
    // Any of several calls is enough.
    expect(allowed(edit('a', path))).toBe(false);
  });

  it('asks about a change without a file name', () => {
    expect(allowed(edit())).toBe(false);
  });

  it('classifies tool calls of the agents, and leaves calls with wrong fields unclassified', () => {
    expect(claudeAct('Read', {})).toEqual({ type: 'read' });
    expect(claudeAct('Write', { file_path: 'a' })).toEqual(edit('a'));
    expect(claudeAct('NotebookEdit', { notebook_path: 'n' })).toEqual(edit('n'));
    expect(claudeAct('Bash', { command: 'npm test' })).toEqual(command('npm test'));
    for (const [tool, input] of [
      ...[
        ['Write', {}] as const,
        ['Write', { file_path: 1 }] as const,
        ['Bash', { command: ['npm'] }] as const,
      ],
      ...[
        ['bash', { command: 'npm test' }] as const,
        ['mcp__x__Read', {}] as const,
        ['WebFetch', {}] as const,
      ],
    ])
      expect(claudeAct(tool, input)).toEqual({ type: 'other' });
    const asked = { toolCallId: '1' };
    expect(
      actOf(asked, { kind: 'execute', input: { command: ['sh', '-c', 'npm test; rm x'] } } as never),
    ).toEqual(command('sh -c npm test; rm x'));
    expect(actOf(asked, { kind: 'fetch', input: {} } as never)).toEqual({ type: 'other' });
    const located = { ...asked, locations: [{ path: 'a' }, { path: '/etc/x' }] };
    expect(allowed(actOf(located, { kind: 'edit', input: {} } as never))).toBe(false);
    expect(actOf(asked, undefined)).toEqual({ type: 'other' });
  });
});

describe('links in a workspace', () => {
  let outside: string;
  const harness = openHarness(nativeRuntime, {});
  beforeAll(async () => {
    outside = await mkdtemp(join(tmpdir(), 'geode-outside-'));
  });
  afterAll(async () => {
    await (await harness).close();
    await rm(outside, { recursive: true, force: true });
  });

  it('detects a path that is or leads through a link', async () => {
    const sandbox = await (await harness).open();
    const at = (path: string) => join(sandbox.workdir, path);
    await mkdir(at('real'));
    await mkdir(at('.geode'));
    await writeFile(at('real/file'), '');
    await symlink(outside, at('out'));
    await symlink('.geode', at('sessions'));
    await symlink('real/file', at('alias'));
    await symlink('nowhere', at('dangling'));
    const linked = (...paths: readonly string[]) => leadsThroughLink(paths, sandbox);
    for (const path of ['out/x', 'sessions/x', 'alias', 'dangling', 'real/../out/x', at('out/x'), './out'])
      expect(await linked('real/file', path), path).toBe(true);
    for (const path of ['real/file', 'real/new', 'new/er/file', './real/file', at('real/file')])
      expect(await linked(path), path).toBe(false);
  });
});
