import { once } from 'node:events';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import { pdfOf } from '../api/pdf.ts';
import { eventually } from '../contracts/harness.ts';
import { type TemporaryFolder, temporaryFolder } from '../temporary-folder.ts';
import { geode, type Outcome, startGeode } from './geode.ts';

let folder: TemporaryFolder;
let home: string;
beforeAll(async () => {
  folder = temporaryFolder();
  home = join(folder.path, 'home');
});
afterAll(() => folder[Symbol.dispose]());

function run(...args: string[]): Promise<Outcome> {
  return geode(args, { home });
}

async function json(...args: string[]): Promise<unknown> {
  const { stdout, stderr, code } = await run(...args, '--json');
  expect(stderr).toBe('');
  expect(code).toBe(0);
  return JSON.parse(stdout);
}

describe('CLI-1: geode memory', { timeout: 300_000 }, () => {
  test('add, search, get, ls and rm', async () => {
    const added = await run(
      'memory',
      'add',
      'Deploys run from the release branch',
      '-c',
      'project',
      '-t',
      'deploy',
      '--id',
      'notes/deploy',
    );
    expect(added).toMatchObject({ code: 0, stdout: 'created notes/deploy\n' });
    const piped = await geode(['memory', 'add', '--id', 'notes/lunch', '--source', 'menu'], {
      home,
      input: 'Soup on Friday\n',
    });
    expect(piped.stdout).toBe('created notes/lunch\n');

    const found = await run('memory', 'search', 'how', 'do', 'we', 'deploy');
    expect(found.stdout).toMatch(
      /^1\. notes\/deploy {2}project #deploy\n {3}Deploys run from the release branch\n {3}score 0\.\d+: .*words #1/,
    );
    expect(await json('memory', 'search', 'deploy', '-c', 'project')).toMatchObject({
      total: 1,
      results: [{ id: 'notes/deploy' }],
    });

    expect((await run('memory', 'get', 'notes/lunch')).stdout).toContain('Soup on Friday');
    expect(await json('memory', 'get', 'notes/lunch')).toMatchObject({
      id: 'notes/lunch',
      sources: ['menu'],
      category: 'core',
    });
    expect((await run('memory', 'ls', '-c', 'core')).stdout).toMatch(/notes\/lunch[\s\S]+1–1 of 1/);
    expect(await json('memory', 'ls')).toMatchObject({ total: 2 });

    expect(await run('memory', 'rm', 'notes/lunch')).toMatchObject({
      code: 0,
      stdout: 'removed notes/lunch\n',
    });
    const again = await run('memory', 'rm', 'notes/lunch');
    expect(again).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is no entry notes/lunch'),
    });
  });

  test('the matches of a search stand out on a terminal, and escape codes in an entry do not reach it', async () => {
    await run('memory', 'add', 'Restarting needs \u001b[31mtwo\u001b[0m people', '--user', 'painter');
    const { stdout } = await geode(['memory', 'search', 'restart', '--user', 'painter'], {
      home,
      color: true,
    });
    expect(stdout).toContain('\u001b[32mRestarting\u001b[39m');
    expect(stdout).not.toContain('\u001b[31m');
  });

  test('marks an outdated entry', async () => {
    await run('memory', 'add', 'The port is 80', '--id', 'old', '--user', 'stale');
    await run('memory', 'add', 'The port is 443', '--id', 'new', '--supersedes', 'old', '--user', 'stale');
    expect((await run('memory', 'get', 'old', '--user', 'stale')).stdout).toContain('[superseded by new]');
  });

  test('import reads folders and files, export and import give the same entries back', async () => {
    const docs = join(folder.path, 'docs');
    await mkdir(join(docs, 'deep', 'node_modules'), { recursive: true });
    await writeFile(join(docs, 'guide.md'), '# Guide\n\nTurn it off and on again.');
    await writeFile(join(docs, 'deep', 'page.html'), '<p>Paragraph of a page</p>');
    await writeFile(join(docs, 'paper.pdf'), pdfOf('Findings of the paper'));
    await writeFile(join(docs, 'picture.png'), new Uint8Array([0x89, 0x50, 0xff, 0x00]));
    await writeFile(join(docs, 'deep', 'node_modules', 'no.md'), 'not this one');
    await writeFile(join(docs, '.hidden.md'), 'nor this one');

    const imported = await geode(['memory', 'import', 'docs', '-t', 'docs', '--user', 'reader'], {
      home,
      cwd: folder.path,
    });
    expect(imported).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('3 created, 0 updated, 0 merged'),
    });
    expect(imported.stdout).toContain('skipped docs/picture.png');
    expect(await json('memory', 'get', 'docs/paper.pdf', '--user', 'reader')).toMatchObject({
      tags: ['docs'],
      category: 'project',
    });
    const named = await geode(['memory', 'import', 'docs/picture.png'], { home, cwd: folder.path });
    expect(named).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('docs/picture.png cannot be read'),
    });

    await run(
      'memory',
      'add',
      'A second text',
      '--id',
      'docs/guide.md',
      '--source',
      'a person',
      '--user',
      'reader',
    );
    const { stdout: exported } = await run('memory', 'export', '--user', 'reader');
    expect(exported).toContain('Turn it off and on again.');
    expect(exported.trim().split('\n')).toHaveLength(3);
    await writeFile(join(folder.path, 'memory.ndjson'), exported);
    await run('memory', 'import', join(folder.path, 'memory.ndjson'), '--user', 'copy');
    const sorted = (lines: string) => lines.trim().split('\n').sort();
    expect(sorted((await run('memory', 'export', '--user', 'copy')).stdout)).toEqual(sorted(exported));
    expect(await json('memory', 'get', 'docs/guide.md', '--versions', '--user', 'copy')).toMatchObject({
      version: 2,
      sources: ['docs/guide.md', 'a person'],
      versions: [{ version: 1 }],
    });

    await writeFile(join(folder.path, 'broken.ndjson'), `${exported.split('\n')[0]}\n{"content": 1}\n`);
    const broken = await run('memory', 'import', join(folder.path, 'broken.ndjson'), '--user', 'broken');
    expect(broken).toMatchObject({ code: 1, stderr: expect.stringContaining('broken.ndjson:2') });
    expect(await json('memory', 'ls', '--user', 'broken')).toMatchObject({ total: 0 });
  });

  test('stats shows counts and the model, reindex processes all entries', async () => {
    await run('memory', 'add', 'something to count', '-c', 'my-own', '--user', 'counter');
    const stats = await run('memory', 'stats', '--user', 'counter');
    expect(stats.stdout).toMatch(/^my-own +1$/m);
    expect(stats.stdout).toMatch(/^model +\S+.*\d+ dimensions$/m);
    expect(await json('memory', 'stats', '--user', 'counter')).toMatchObject({
      categories: { 'my-own': 1, core: 0 },
    });
    expect(await run('memory', 'reindex')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Indexed \d+ entries/),
    });
  });

  test.each<[string[], string, number?]>([
    [['memory', 'search'], 'There is nothing to search for'],
    [['memory', 'search', 'a', '--limit', '0'], '1 to 100'],
    [['memory', 'search', 'a', '-c', 'typo'], 'typo'],
    [['memory', 'search', 'a', '--dense', '2'], '--dense', 2],
    [['memory', 'add', '  '], 'content'],
    [['memory', 'get'], 'Give one id', 2],
    [['memory', 'get', 'nothing'], 'There is no entry'],
    [['memory', 'rm'], 'Give at least one id', 2],
    [['memory', 'import', '/no/such/file'], '/no/such/file'],
    [['keys', 'create', '--scope', 'everything'], '--scope', 2],
    [['keys', 'create', '--user', 'Not Valid'], 'user name'],
    [['keys', 'revoke', 'nothing'], 'There is no key'],
    [['gateway', '--port', '99999'], '--port', 2],
    [['gateway', '--no-auth', '--host', '0.0.0.0'], 'Without auth'],
  ])('refuses %j with the reason', async (args, reason, exitCode = 1) => {
    const { code, stdout, stderr } = await run(...args);
    expect(stderr).toContain(reason);
    expect({ code, stdout }).toEqual({ code: exitCode, stdout: '' });
  });
});

describe('CLI-1: geode gateway and keys', { timeout: 300_000 }, () => {
  test('the first start prints a key once; the server answers, sees revoked keys and stops', async () => {
    const ownHome = join(folder.path, 'gateway-home');
    const first = await start(ownHome);
    expect(first.key).toMatch(/^geode_/);
    expect((await stat(join(ownHome, '.local/state/geode/keys.db'))).mode & 0o777).toBe(0o600);
    const client = createClient({ url: first.url, key: first.key ?? undefined });
    await client.ingest({ content: 'A fact from HTTP', category: 'core', source: 'test', id: 'http/fact' });
    await first.stop();

    const second = await start(ownHome);
    expect(second.key).toBeNull();
    const again = createClient({ url: second.url, key: first.key ?? undefined });
    expect((await again.get('http/fact')).content).toBe('A fact from HTTP');
    const made = await geode(['keys', 'create', '--user', 'alice'], { home: ownHome });
    const alice = createClient({ url: second.url, key: made.stdout.trim() });
    expect((await alice.list()).total).toBe(0);
    const id = made.stdout.split('_')[1] ?? '';
    expect((await geode(['keys', 'list'], { home: ownHome })).stdout).toContain(id);
    expect((await geode(['keys', 'revoke', id], { home: ownHome })).stdout).toBe(`Revoked ${id}.\n`);
    await expect(alice.list()).rejects.toMatchObject({ code: 'unauthorized' });
    await second.stop();
    await expect(again.list()).rejects.toMatchObject({ code: 'server_unreachable' });
  });

  test('MEM-3: without a model and a network, both search by words and report it', async () => {
    const ownHome = join(folder.path, 'offline-home');
    const env = { XDG_CACHE_HOME: join(ownHome, 'cache'), npm_config_registry: 'http://127.0.0.1:9' };
    const server = await start(ownHome, env);
    const client = createClient({ url: server.url, key: server.key ?? undefined });
    await client.ingest({ content: 'Deploys run from the release branch', category: 'core', source: 'test' });
    const answer = await client.search('release branch');
    expect(answer).toMatchObject({ total: 1, degraded: ['dense'] });
    const ready = await (await fetch(`${server.url}/ready`)).json();
    expect(ready).toMatchObject({ status: 'degraded', pending: 1 });
    const listed = await geode(['memory', 'ls'], { home: ownHome, env });
    expect(listed).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('release branch') });
    await server.stop();
  });

  test('MEM-9: audit finds problems, and the commands that it suggests remove them, with and without a host', async () => {
    const ownHome = join(folder.path, 'audited-home');
    const ask = (...args: string[]) => geode(['memory', ...args], { home: ownHome });
    await ask('add', 'The API listens on port 8080.', '--id', 'port/old');
    await ask('add', 'The API listens on port 9090.', '--id', 'port/new');
    const alone = await ask('audit');
    expect(alone).toMatchObject({ code: 0, stderr: '' });
    expect(alone.stdout).toContain('Contradictions (1)\n  port/old\n    one says 8080, the other 9090');
    const server = await start(ownHome);
    expect((await ask('audit')).stdout).toBe(alone.stdout);
    const [, mend = ''] = alone.stdout.match(/^ +geode memory (rm .+)$/m) ?? [];
    expect(await ask(...mend.split(' '))).toMatchObject({ code: 0 });
    const after = await ask('audit');
    expect(after.stdout).toMatch(/^Nothing found\. 1 entry checked, compared by words( and meaning)?\.\n$/);
    expect((await ask('get', 'port/new')).stdout).toContain('recalled 0×');
    await server.stop();
  });

  test('the CLI and a running server work on the same memory', async () => {
    const ownHome = join(folder.path, 'shared-home');
    const server = await start(ownHome);
    const client = createClient({ url: server.url, key: server.key ?? undefined });
    await client.ingest({ content: 'Stored by the server', category: 'core', source: 'test' });
    await geode(['memory', 'add', 'Stored by the command line'], { home: ownHome });
    const onServer = await client.search('stored command line');
    expect(onServer.results.map(({ content }) => content)).toContain('Stored by the command line');
    const onLine = await geode(['memory', 'search', 'stored by the server'], { home: ownHome });
    expect(onLine.stdout).toContain('Stored by the server');
    // The host answers, so that the command needs neither the file nor a model: other settings of memory would differ.
    const elsewhere = { GEODE_MEMORY_FILE: join(ownHome, 'other.db') };
    const other = await geode(['memory', 'search', 'stored by the server', '--json'], {
      home: ownHome,
      env: elsewhere,
    });
    expect(JSON.parse(other.stdout)).toMatchObject({ total: 0 });
    const removed = await geode(['memory', 'rm', 'nothing', '--json'], { home: ownHome });
    expect(removed).toMatchObject({ code: 1, stdout: '{"removed":[],"unknown":["nothing"]}\n' });
    const alices = await geode(['memory', 'add', 'For alice', '--id', 'hers', '--user', 'alice'], {
      home: ownHome,
    });
    expect(alices.stdout).toBe('created hers\n');
    expect((await client.search('for alice')).results.map(({ id }) => id)).not.toContain('hers');
    expect((await geode(['memory', 'rm', 'hers', '--user', 'alice'], { home: ownHome })).stdout).toBe(
      'removed hers\n',
    );
    const stored = () => server.lines().filter((line) => line.includes('"path":"/api/v1/context/ingest"'));
    await eventually(async () => stored().length > 1, 'the lines of the log about both');
    await server.stop();
  });
});

interface Started {
  /** The lines that the server has logged so far. */
  readonly lines: () => readonly string[];
  readonly url: string;
  readonly key: string | null;
  stop(): Promise<void>;
}

async function start(ownHome: string, env: Readonly<Record<string, string>> = {}): Promise<Started> {
  const child = startGeode(['gateway', '--port', '0', '--json'], { home: ownHome, env });
  if (!child.stdout) throw new Error('The gateway has no output');
  let log = '';
  child.stderr?.on('data', (piece) => {
    log += piece;
  });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const { url, key } = JSON.parse(line);
  return {
    url,
    key,
    lines: () => log.split('\n'),
    async stop() {
      child.kill('SIGTERM');
      const [code] = await once(child, 'exit');
      expect(code).toBe(0);
    },
  };
}
