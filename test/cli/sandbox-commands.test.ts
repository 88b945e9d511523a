import { once } from 'node:events';
import { mkdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import type { JournalSummary } from '../../src/journals/journal-list.ts';
import type { Usage } from '../../src/sandboxes/metrics.ts';
import type { SandboxStatus } from '../../src/seams/persistent.ts';
import type { ProcessList } from '../../src/seams/process.ts';
import { patience, patiently, type SandboxHome, sandboxHome } from './sandbox-home.ts';

const { bubblewrap, docker } = inject('engines');
const reason = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;
const counting = 'i=0; while :; do i=$((i+1)); echo tick $i; sleep 0.05; done';

interface Sandboxes {
  readonly sandboxes: readonly SandboxStatus[];
}
interface Journals {
  readonly journals: readonly JournalSummary[];
}

describe.skipIf(!bubblewrap.available)(`CLI-1: geode sandbox${reason}`, patience, () => {
  let home: SandboxHome;
  beforeAll(async () => {
    home = await sandboxHome({ GEODE_RUNTIME_NAME: 'bubblewrap' });
  });
  afterEach(() => home.end());
  afterAll(() => home[Symbol.asyncDispose]());

  /** The word that a background command prints. */
  const background = async (chat: string, script: string) =>
    (await home.ok(['sandbox', 'exec', '--background', chat, '--', 'sh', '-c', script])).trim();
  const stateOf = async (chat: string) => {
    const { sandboxes } = await home.json<Sandboxes>(['sandbox', 'ls']);
    return sandboxes.find((status) => status.chat === chat)?.state;
  };

  it('SBX-2: creates, lists, stops, starts, renames, extends and removes', async () => {
    const created = await home.run([
      'sandbox',
      'create',
      'alice/life',
      '--label',
      'team=a',
      '--memory',
      '128m',
    ]);
    expect(created).toMatchObject({
      code: 0,
      stdout: 'alice/life: running, runtime bubblewrap, isolation grade os\n',
    });
    expect((await home.run(['sandbox', 'create', 'alice/life'])).code).toBe(0);
    await home.ok(['sandbox', 'exec', 'alice/life', '--', 'sh', '-c', 'echo kept > file']);
    const listed = await home.ok(['sandbox', 'ls']);
    expect(listed).toMatch(/^NAME +STATE +ISOLATION +CPU +MEMORY +ACTIVE +IMAGE +LABELS$/m);
    expect(listed).toMatch(/^alice\/life +running +bubblewrap \(os\) .* - +team=a$/m);
    const measured = /^alice\/life .* \d+ % +[\d.]+ [kM]B of 1\d\d MB /m;
    await patiently(
      async () => measured.test(await home.ok(['sandbox', 'ls'])),
      'CPU and memory in the list',
    );
    expect(listed).not.toContain('room-');
    expect(await home.ok(['sandbox', 'ls', '--wide'])).toMatch(/^alice\/life .* room-\S+ +- +team=a$/m);
    expect(await home.ok(['sandbox', 'stop', 'alice/life'])).toContain('alice/life: stopped');
    expect(await stateOf('life')).toBe('stopped');
    expect(await home.ok(['sandbox', 'ls'])).toMatch(/^alice\/life +stopped +bubblewrap \(os\) +- +- /m);
    expect(await home.ok(['sandbox', 'start', 'alice/life'])).toContain('alice/life: running');
    expect(await home.ok(['sandbox', 'rename', 'alice/life', 'later'])).toContain('alice/later: running');
    expect(await home.ok(['sandbox', 'exec', '--user', 'alice', 'later', '--', 'cat', 'file'])).toBe(
      'kept\n',
    );
    expect(await home.ok(['sandbox', 'extend', 'alice/later', '2h'])).toBe(
      'alice/later: kept running for 2 h more\n',
    );
    const [status] = (await home.json<Sandboxes>(['sandbox', 'ls', '--user', 'alice'])).sandboxes;
    expect(status).toMatchObject({ user: 'alice', chat: 'later', labels: { team: 'a' }, image: null });
    expect(await home.ok(['sandbox', 'rm', status?.id ?? ''])).toBe('alice/later: removed\n');
    expect(await stateOf('later')).toBeUndefined();
  });

  it('names: the first "/" separates user and chat, --user takes the whole word, and shown names contain no control characters', async () => {
    await home.ok(['sandbox', 'create', 'bob/a/b']);
    const odd = await home.run(['sandbox', 'create', '--user', 'bob/a', 'b']);
    expect(odd).toMatchObject({ code: 1, stderr: expect.stringContaining('user name') });
    await home.ok(['sandbox', 'create', '--user', 'bob', 'c/d']);
    await home.ok(['sandbox', 'create', '--user', 'bob', 'x\u001b]0;hi\u0007\ny']);
    const { sandboxes } = await home.json<Sandboxes>(['sandbox', 'ls']);
    const names = sandboxes.map(({ user, chat }) => [user, chat]);
    expect(names).toContainEqual(['bob', 'a/b']);
    expect(names).toContainEqual(['bob', 'c/d']);
    expect(names).toContainEqual(['bob', 'x\u001b]0;hi\u0007\ny']);
    const shown = await home.ok(['sandbox', 'ls']);
    expect(shown).not.toContain('\u001b');
    expect(shown.trim().split('\n')).toHaveLength(sandboxes.length + 1);
  });

  it('exec passes stdin, output and exit code through, and takes a folder, variables and a terminal', async () => {
    await home.ok(['sandbox', 'create', 'exec']);
    const script = 'cat; echo "err $A" >&2; pwd; exit 9';
    const args = ['sandbox', 'exec', 'exec', '-e', 'A=b', '--cwd', '/tmp', '--', 'sh', '-c', script];
    expect(await home.run(args, 'in\n')).toEqual({ code: 9, stdout: 'in\n/tmp\n', stderr: 'err b\n' });
    const pty = await home.run(['sandbox', 'exec', '--pty', 'exec', '--', 'sh', '-c', 'tty; stty size']);
    expect(pty).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\/dev\/pts\/\d+\r\n24 80\r\n$/) });
    const result = await home.json(['sandbox', 'exec', 'exec', '--json', '--', 'sh', '-c', 'echo out']);
    expect(result).toMatchObject({ exitCode: 0, stdout: 'out\n', stderr: '', grade: 'os' });
    const slow = await home.run(['sandbox', 'exec', '--timeout', '0.5', 'exec', '--', 'sleep', '100']);
    expect(slow).toMatchObject({ code: 124, stderr: expect.stringContaining('timed out') });
  });

  it('PROC-1: Ctrl-C ends what exec runs, with everything below it, and nothing else', async () => {
    await home.ok(['sandbox', 'create', 'interrupt']);
    const other = await background('interrupt', 'exec sleep 1000');
    const child = home.start('sandbox', 'exec', 'interrupt', '--', 'sh', '-c', 'echo up; sleep 2000');
    child.stdin.end();
    await once(child.stdout, 'data');
    child.kill('SIGINT');
    await once(child, 'close');
    expect(child.exitCode).toBe(130);
    const { processes, disowned } = await home.json<ProcessList>(['sandbox', 'ps', 'interrupt']);
    expect(processes.filter(({ state }) => state === 'running').map(({ id }) => id)).toEqual([other]);
    expect(disowned).toEqual([]);
  });

  it('PROC-1: a background process survives the end and the kill -9 of its command; its journal has all output', async () => {
    await home.ok(['sandbox', 'create', 'back']);
    const id = await background('back', counting);
    const tick = async (least: number) => {
      const out = await home.ok(['sandbox', 'logs', 'back', id, '--tail', '1']);
      return Number(/tick (\d+)/.exec(out)?.[1]) >= least;
    };
    await patiently(() => tick(10), 'ten ticks');
    const killed = home.start('sandbox', 'exec', '--background', 'back', '--', 'sh', '-c', counting);
    const [line] = await once(killed.stdout, 'data');
    killed.kill('SIGKILL');
    await once(killed, 'close');
    const second = String(line).trim();
    const before = (await home.ok(['sandbox', 'logs', 'back', second])).length;
    await patiently(
      async () => (await home.ok(['sandbox', 'logs', 'back', second])).length > before,
      'more of the second',
    );
    const all = await home.ok(['sandbox', 'logs', 'back', second]);
    expect(all.split('\n').slice(0, -1)).toEqual(
      Array.from({ length: all.split('\n').length - 1 }, (_, index) => `tick ${index + 1}`),
    );
    expect(await home.ok(['sandbox', 'logs', 'back', second, '--from', '7'])).toMatch(/^tick 2\n/);
    expect(await home.ok(['sandbox', 'logs', 'back', id, '--grep', 'tick 7'])).toMatch(/^tick 7\n/);
    const { journals } = await home.json<Journals>(['sandbox', 'logs', 'back']);
    expect(journals.map(({ processId }) => processId)).toEqual([second, id]);
    expect(await home.ok(['sandbox', 'logs', 'back'])).toMatch(new RegExp(`^${id} .* running .* sh -c`, 'm'));
  });

  it('logs --follow shows new output until the process ends, and other commands work in parallel', async () => {
    await home.ok(['sandbox', 'create', 'follow']);
    const holder = home.start(
      'sandbox',
      'exec',
      '--timeout',
      '600',
      'follow',
      '--',
      'sh',
      '-c',
      'echo one; read x; echo two; exit 4',
    );
    await once(holder.stdout, 'data');
    const { sandboxes } = await home.json<Sandboxes>(['sandbox', 'ls']);
    expect(sandboxes.find(({ chat }) => chat === 'follow')).toMatchObject({ state: 'running', grade: 'os' });
    const { journals } = await home.json<Journals>(['sandbox', 'logs', 'follow']);
    const following = home.start('sandbox', 'logs', '-f', 'follow', journals[0]?.processId ?? '');
    let shown = '';
    following.stdout.on('data', (piece) => {
      shown += piece;
    });
    await patiently(async () => shown === 'one\n', 'the first line');
    const { processes } = await home.json<ProcessList>(['sandbox', 'ps', 'follow']);
    expect(processes.map(({ state }) => state)).toEqual(['running']);
    holder.stdin.end('go\n');
    await Promise.all([once(following, 'close'), once(holder, 'close')]);
    expect([shown, following.exitCode, holder.exitCode]).toEqual(['one\ntwo\n', 0, 4]);
  });

  it('--take-over stops a host in use, and sandboxes keep running', async () => {
    await home.ok(['sandbox', 'create', 'over']);
    const long = home.start(
      'sandbox',
      'exec',
      '--timeout',
      '0',
      'over',
      '--',
      'sh',
      '-c',
      'echo up; sleep 3000',
    );
    await once(long.stdout, 'data');
    const { processes } = await home.json<ProcessList>(['sandbox', 'ps', '--take-over', 'over']);
    const running = processes.filter(({ state }) => state === 'running');
    expect(running.map(({ argv }) => argv[2])).toEqual(['echo up; sleep 3000']);
    await patiently(async () => long.exitCode === 143, 'the end of what the first host ran');
  });

  it('ps shows the whole process tree with disowned processes', async () => {
    await home.ok(['sandbox', 'create', 'tree']);
    await background('tree', 'sh -c "sleep 1111 & wait" & (setsid sleep 2222 &) ; wait');
    await background('tree', 'setsid sleep 3333 & exit 0');
    const shown = await patiently(async () => {
      const out = await home.ok(['sandbox', 'ps', 'tree']);
      return out.includes('sleep 2222') && out.includes('sleep 3333') && out.includes('sleep 1111') && out;
    }, 'the tree');
    expect(shown).toMatch(/└─ sh -c sleep 1111 & wait\n.* {3}└─ sleep 1111\n/);
    await home.ok(['sandbox', 'stop', 'tree']);
    expect(await home.ok(['sandbox', 'ps', 'tree'])).toMatch(/tree is stopped/);
  });

  it('FS-1: cp brings files and folders in and out, links as links, and streams', async () => {
    await home.ok(['sandbox', 'create', 'cp']);
    const local = join(home.folder, 'local');
    await mkdir(join(local, 'deep'), { recursive: true });
    await writeFile(join(local, 'deep', 'a b'), 'x'.repeat(3_000_000), { mode: 0o750 });
    await symlink('deep/a b', join(local, 'link'));
    await home.ok(['sandbox', 'cp', 'local', 'cp:up']);
    await home.ok(['sandbox', 'cp', 'local', 'cp:up']);
    const found = await home.ok([
      'sandbox',
      'exec',
      'cp',
      '--',
      'find',
      'up',
      '-type',
      'f',
      '-size',
      '3000000c',
    ]);
    expect(found.trim().split('\n').sort()).toEqual(['up/deep/a b', 'up/local/deep/a b']);
    await home.ok(['sandbox', 'cp', 'cp:up/local', 'back']);
    expect(await readlink(join(home.folder, 'back', 'link'))).toBe('deep/a b');
    expect((await stat(join(home.folder, 'back', 'deep', 'a b'))).mode & 0o777).toBe(0o750);
    await home.ok(['sandbox', 'cp', '-', 'cp:typed'], 'from stdin');
    expect(await home.ok(['sandbox', 'cp', 'cp:typed', '-'])).toBe('from stdin');
    await home.ok(['sandbox', 'cp', 'cp:typed', 'local']);
    expect(await readFile(join(local, 'typed'), 'utf8')).toBe('from stdin');
    const copied = await home.json(['sandbox', 'cp', 'local/typed', 'cp:up']);
    expect(copied).toMatchObject({
      chat: 'cp',
      direction: 'in',
      from: 'local/typed',
      to: 'up/typed',
      type: 'file',
    });
    for (const [from, to] of [
      ['cp:nowhere', 'x'],
      ['nowhere', 'cp:x'],
      ['cp:up', 'back'],
      ['cp:up', '-'],
    ] as const) {
      const { code } = await home.run(['sandbox', 'cp', from, to]);
      expect([from, to, code]).toEqual([from, to, from === 'cp:up' && to === 'back' ? 0 : 1]);
    }
    expect((await home.run(['sandbox', 'cp', 'a', 'b'])).code).toBe(2);
    expect((await home.run(['sandbox', 'cp', 'cp:a', 'cp:b'])).code).toBe(2);
  });

  it('FS-3: cp never writes outside of its target, also with hostile links in the sandbox', async () => {
    await home.ok(['sandbox', 'create', 'hostile']);
    const script =
      'mkdir evil; ln -s /etc/passwd evil/secret; ln -s ../../../outside evil/out; echo hi > evil/file';
    await home.ok(['sandbox', 'exec', 'hostile', '--', 'sh', '-c', script]);
    const { code, stderr } = await home.run(['sandbox', 'cp', 'hostile:evil', 'taken']);
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Nothing was written'),
    });
    await expect(stat(join(home.folder, 'taken'))).rejects.toThrow('ENOENT');
  });

  it('SBX-7: snapshots, diff, undo, restore and fork', async () => {
    await home.ok(['sandbox', 'create', 'snap']);
    await home.ok(['sandbox', 'exec', 'snap', '--', 'sh', '-c', 'echo one > a; mkdir d; echo x > d/f']);
    expect(await home.run(['sandbox', 'diff', 'snap'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('geode sandbox snapshot'),
    });
    expect(await home.ok(['sandbox', 'snapshot', 'snap', 'before'])).toBe(
      'before: 2 files, 1 folders, 0 links\n',
    );
    const change = 'echo two > a; rm -r d; echo new > b';
    await home.ok(['sandbox', 'exec', '--undoable', 'snap', '--', 'sh', '-c', change]);
    expect(await home.ok(['sandbox', 'diff', 'snap'])).toBe('M a\nA b\nD d\nD d/f\n');
    expect(await home.ok(['sandbox', 'diff', '--text', 'snap', 'before'])).toContain('\n-one\n+two\n');
    const diff = await home.json(['sandbox', 'diff', 'snap', 'before']);
    expect(diff).toMatchObject({
      from: 'before',
      to: null,
      changes: [{ path: 'a', change: 'modified' }, {}, {}, {}],
    });
    const list = await home.json(['sandbox', 'snapshot', '--list', 'snap']);
    expect(list).toMatchObject({ snapshots: [{ name: 'before', kind: 'kept' }, { kind: 'undo' }] });
    await home.ok(['sandbox', 'fork', 'snap', 'forked']);
    expect(await home.ok(['sandbox', 'undo', 'snap'])).toMatch(/snap: 3 written, 1 removed/);
    expect(await home.ok(['sandbox', 'exec', 'snap', '--', 'cat', 'a', 'd/f'])).toBe('one\nx\n');
    expect(await home.ok(['sandbox', 'exec', 'forked', '--', 'cat', 'a', 'b'])).toBe('two\nnew\n');
    await home.ok(['sandbox', 'exec', 'snap', '--', 'rm', 'a']);
    expect(await home.ok(['sandbox', 'restore', 'snap', 'before'])).toMatch(/1 written, 0 removed/);
    expect(await home.ok(['sandbox', 'snapshot', '--rm', 'before', 'snap'])).toBe('before: removed\n');
  });

  it('SBX-7: a file name that is not UTF-8 does not hide other changes from diff --text', async () => {
    await home.ok(['sandbox', 'create', 'names']);
    const inside = (script: string) => home.ok(['sandbox', 'exec', 'names', '--', 'sh', '-c', script]);
    await inside('name=$(printf "a\\377b"); echo one > "$name"; echo one > after');
    await home.ok(['sandbox', 'snapshot', 'names', 'before']);
    await inside('name=$(printf "a\\377b"); echo two > "$name"; echo two > after');
    const shown = await home.ok(['sandbox', 'diff', '--text', 'names', 'before']);
    expect(shown.match(/^[-+](one|two)$/gm)).toEqual(['-one', '+two', '-one', '+two']);
    expect(shown).toContain('+++ b/after');
  });

  it('SBX-9 SBX-10: stats prints once or repeatedly; pause and resume', async () => {
    await home.ok(['sandbox', 'create', 'busy']);
    await background('busy', 'while :; do :; done');
    const sandboxes = await patiently(async () => {
      const seen = await home.json<{ sandboxes: readonly (Usage & { chat: string })[] }>([
        ...['sandbox', 'stats', 'busy'],
      ]);
      return Number(seen.sandboxes[0]?.cpus.used) > 0 && seen.sandboxes;
    }, 'a look at a moment in which the machine lets it work');
    expect(sandboxes).toMatchObject([{ chat: 'busy', processes: 1 }]);
    expect(sandboxes[0]?.memoryBytes.used).toBeGreaterThan(0);
    const watching = home.start('sandbox', 'stats', '--watch', '--every', '0.1', 'busy');
    let shown = '';
    watching.stdout.on('data', (piece) => {
      shown += piece;
    });
    await patiently(async () => shown.split('SANDBOX').length > 3, 'three looks');
    watching.kill('SIGINT');
    await once(watching, 'close');
    expect(watching.exitCode).toBe(130);
    expect(shown).toMatch(/busy +\d+ % of 100 % +\S+ MB of \S+ MB +\d+ of 256 +1 +/);
    expect(await home.ok(['sandbox', 'pause', 'busy'])).toContain('busy: paused');
    expect(await stateOf('busy')).toBe('paused');
    expect(await home.ok(['sandbox', 'ps', 'busy'])).toContain('is paused');
    expect(await stateOf('busy')).toBe('paused');
    expect(await home.ok(['sandbox', 'resume', 'busy'])).toContain('busy: running');
    const { processes } = await home.json<ProcessList>(['sandbox', 'ps', 'busy']);
    expect(processes.map(({ state }) => state)).toEqual(['running']);
    await home.ok(['sandbox', 'stop', 'busy']);
  });

  it('reports errors with the documented exit codes', async () => {
    const wrong: readonly (readonly [readonly string[], number, string])[] = [
      [['sandbox', 'exec', 'nobody', '--', 'true'], 125, 'geode sandbox create'],
      [['sandbox', 'stop', 'nobody'], 1, 'There is no sandbox'],
      [['sandbox', 'rm', 'nobody'], 1, 'There is no sandbox'],
      [['sandbox', 'logs', 'nobody'], 1, 'There is no sandbox'],
      [['sandbox', 'rename', 'nobody', 'x'], 1, 'There is no sandbox'],
      [['sandbox', 'create'], 2, 'geode sandbox create --help'],
      [['sandbox', 'create', 'x', '--runtime', 'jail'], 2, 'There is no runtime jail'],
      [['sandbox', 'create', 'x', '--network', 'host'], 2, 'none, bridge'],
      [['sandbox', 'exec', 'x'], 2, 'after --'],
      [['sandbox', 'extend', 'x', 'soon'], 2, 'is not a TIME'],
      [['sandbox', 'logs', 'x', 'y', '--since', 'soon'], 2, '--since soon'],
      [['sandbox', 'ls', '--nope'], 2, '--nope'],
      [['sandbox', 'creat', 'x'], 2, 'Did you mean "sandbox create"'],
      [['shell', 'x'], 2, 'needs a terminal'],
    ];
    for (const [args, code, words] of wrong) {
      const outcome = await home.run(args);
      expect({ args, code: outcome.code, stderr: outcome.stderr }).toEqual({
        args,
        code,
        stderr: expect.stringContaining(words),
      });
    }
    const json = await home.run(['sandbox', 'stop', '--json', 'nobody']);
    expect(JSON.parse(json.stdout)).toMatchObject({ code: 'sandbox_not_found' });
    expect((await home.run(['sandbox'])).stdout).toContain('sandbox create');
  });
});

describe.skipIf(!docker.available)('CLI-1: geode sandbox on docker', patience, () => {
  let home: SandboxHome;
  beforeAll(async () => {
    home = await sandboxHome({
      GEODE_RUNTIME_NAME: 'docker',
      GEODE_DOCKER_HOST: `unix://${docker.available ? docker.socket : ''}`,
      GEODE_DOCKER_IMAGE: 'geode-test/python:1',
    });
  });
  afterEach(() => home.end());
  afterAll(() => home[Symbol.asyncDispose]());

  it('SBX-4: files and background processes stay from one command to the next', async () => {
    expect(await home.ok(['sandbox', 'create', 'demo'])).toContain('isolation grade container');
    await writeFile(
      join(home.folder, 'server.py'),
      'import time\nprint("up", flush=True)\ntime.sleep(1000)\n',
    );
    await home.ok(['sandbox', 'cp', 'server.py', 'demo:']);
    const id = (await home.ok(['sandbox', 'exec', '-b', 'demo', '--', 'python3', 'server.py'])).trim();
    await patiently(async () => (await home.ok(['sandbox', 'logs', 'demo', id])) === 'up\n', 'its word');
    const { processes } = await home.json<ProcessList>(['sandbox', 'ps', 'demo']);
    expect(processes.find((process) => process.id === id)).toMatchObject({ state: 'running' });
    await home.ok(['sandbox', 'stop', 'demo']);
    expect(await home.ok(['sandbox', 'exec', 'demo', '--', 'ls'])).toBe('server.py\n');
  });
});
