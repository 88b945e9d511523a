import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GeodeError } from '../../src/base/errors.ts';
import { commands } from '../../src/cli/command-list.ts';
import { runCommand } from '../../src/cli/commands/run.ts';
import { atCode } from '../../src/cli/input/split-arguments.ts';
import { errorText, visible, visibleJson } from '../../src/cli/render/printable.ts';
import { listQuerySchema, searchQuerySchema } from '../../src/contract/memory-schemas.ts';
import { type TemporaryFolder, temporaryFolder } from '../temporary-folder.ts';
import { geode } from './geode.ts';
import { geodeProgram, patience } from './sandbox-home.ts';

const control = 'a\u001b[31m\u009b\u202eb\r\nc';

describe('arguments', patience, () => {
  let folder: TemporaryFolder;
  beforeAll(() => {
    folder = temporaryFolder();
  });
  afterAll(async () => {
    await run('host', 'stop');
    folder[Symbol.dispose]();
  });
  const run = (...args: readonly string[]) => geode(args, { home: folder.path, cwd: folder.path });

  it('in the list match the declaration of every command', async () => {
    for (const { name, summary, load } of commands) {
      const command = await load();
      expect({ name: command.name, summary: command.summary }).toEqual({ name, summary });
    }
  });

  it('of geode run stand before and after the language', async () => {
    const native = ['--runtime', 'native', '-q'];
    expect(await run('run', 'shell', '--timeout', '30', ...native, '-c', 'echo $1', 'word')).toEqual({
      code: 0,
      stdout: 'word\n',
      stderr: '',
    });
    expect(await run('run', ...native, 'shell', '-c', 'echo $1 $2', '--', '--timeout', '3')).toMatchObject({
      code: 0,
      stdout: '--timeout 3\n',
    });
    expect(await run('run', ...native, 'shell', '-c', 'true', '--timeout', '3')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--timeout comes after the code'),
    });
  });

  it.each([
    [['python', '-c', 'x', '-q'], undefined],
    [['script.py', '--memory=1g'], undefined],
    [['python', '-', 'a', '-e', 'A=b'], undefined],
    [['script.py', '--verbose', '-x'], { before: [], after: ['script.py', '--verbose', '-x'] }],
    [['-q', 'script.py', '--', '-q', '--'], { before: ['-q'], after: ['script.py', '-q', '--'] }],
    [['python', '-eA=b', '-', 'c'], { before: ['-eA=b'], after: ['python', '-', 'c'] }],
    [
      ['python', '--memory=1g', '-c', '-q', 'a'],
      { before: ['--memory=1g'], after: ['python', '-c', '-q', 'a'] },
    ],
    [['--', 'python', '-c', 'x'], { before: [], after: ['python', '-c', 'x'] }],
    [['--timeout', '3'], { before: ['--timeout', '3'], after: [] }],
    [['python', '--timeout'], { before: ['--timeout'], after: ['python'] }],
  ])('of geode run %j are never swallowed', (argv, expected) => {
    const { options } = runCommand;
    if (expected === undefined) expect(() => atCode(argv, options)).toThrow('comes after the code');
    else expect(atCode(argv, options)).toEqual(expected);
  });

  it('with an invalid size, an invalid number or invalid UTF-8 are wrong usage', async () => {
    for (const [option, value] of [
      ['--memory', 'abc'],
      ['--memory', '1k'],
      ['--disk', '-1'],
      ['--cpus', 'many'],
    ] as const) {
      const { code, stderr } = await run('run', option, value, 'shell', '-c', 'true');
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(option) });
    }
    const script = '"$0" "$1" run --runtime native shell -c "$(printf \'echo \\377\')"';
    const { status, stdout, stderr } = spawnSync('sh', ['-c', script, process.execPath, geodeProgram], {
      env: { PATH: process.env.PATH, HOME: folder.path },
      encoding: 'utf8',
    });
    expect({ status, stdout, stderr }).toEqual({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining('not UTF-8'),
    });
    expect(await run('run', '--runtime', 'native', '-q', 'shell', '-c', 'echo \ufffd')).toMatchObject({
      code: 0,
      stdout: '\ufffd\n',
    });
  });

  it('--version names the version, and config the file', async () => {
    expect(await run('--version')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^geode \d+\.\d/),
    });
    const file = join(folder.path, '.config/geode/geode.json');
    expect((await run('config')).stdout).toContain(`Config file: ${file} (does not exist`);
  });

  it('of a query accept plain decimal numbers and refuse other forms', () => {
    for (const limit of ['0x10', '1e1', ' 5', '', '5.5', '-1', '0b1'])
      expect([limit, listQuerySchema.safeParse({ limit }).success]).toEqual([limit, false]);
    expect(listQuerySchema.parse({ limit: '16', offset: '3' })).toMatchObject({ limit: 16, offset: 3 });
    expect(listQuerySchema.parse({})).toMatchObject({ limit: 10, offset: 0 });
    expect(searchQuerySchema.safeParse({ q: 'a', dense: '0x1' }).success).toBe(false);
    expect(searchQuerySchema.parse({ q: 'a', dense: '0.5' }).dense).toBe(0.5);
  });
});

describe('a home', patience, () => {
  it('is refused when it is a relative path; reading commands do not create a missing home', async () => {
    using folder = temporaryFolder();
    const cwd = join(folder.path, 'here');
    await mkdir(cwd);
    const missing = join(folder.path, 'missing');
    const env = { XDG_CACHE_HOME: '' };
    expect(await geode(['sandbox', 'ls'], { home: 'home', cwd, env })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('HOME is "home"'),
    });
    for (const [args, code] of [
      [['sandbox', 'ls'], 0],
      [['sandbox', 'ps', 'demo'], 1],
      [['memory', 'ls'], 0],
      [['keys', 'list'], 0],
    ] as const) {
      const read = await geode(args, { home: missing, cwd, env });
      expect([args, read.code]).toEqual([args, code]);
    }
    expect({ made: await readdir(cwd), isHome: existsSync(missing) }).toEqual({ made: [], isHome: false });
  });
});

describe('output of names from a sandbox', () => {
  it('holds no control characters, as text and as JSON', () => {
    const error = new GeodeError('file_refused', `${control} cannot be read.`);
    const shown = visible(errorText(error));
    expect(shown).toContain('geode: a\\u001b[31m\\u009b\\u202eb\\u000d\n  c cannot be read.\n  ');
    expect(/[\p{Cc}\p{Cf}]/u.test(shown.replaceAll('\n', ''))).toBe(false);
    const json = visibleJson(error);
    expect(/[\p{Cc}\p{Cf}]/u.test(json)).toBe(false);
    expect(JSON.parse(json).error).toBe(`${control} cannot be read.`);
  });
});
