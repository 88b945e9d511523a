import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import type { ProcessList } from '../../src/seams/process.ts';
import { running, started } from './beside.ts';
import { geodeProgram, patience, patiently, type SandboxHome, sandboxHome } from './sandbox-home.ts';

const { bubblewrap } = inject('engines');
const reason = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;
const detach = '\x10\x11';

describe.skipIf(!bubblewrap.available)(`CLI-1: several commands at once${reason}`, patience, () => {
  let home: SandboxHome;
  beforeAll(async () => {
    home = await sandboxHome({ GEODE_RUNTIME_NAME: 'bubblewrap' });
  });
  afterEach(() => home.end());
  afterAll(() => home[Symbol.asyncDispose]());

  it('while a shell is open other commands run, copy, list and stop', async () => {
    await using me = home.sit(['shell', 'shared']);
    me.type('echo in the sh$((1))ell > seen; echo rea$((1))dy\r');
    await me.sees('rea1dy');
    expect(await home.ok(['sandbox', 'exec', 'shared', '--', 'cat', 'seen'])).toBe('in the sh1ell\n');
    await writeFile(join(home.folder, 'note'), 'from outside');
    await home.ok(['sandbox', 'cp', 'note', 'shared:']);
    me.type('cat note; echo\r');
    await me.sees('from outside');
    await home.ok(['sandbox', 'create', 'beside']);
    expect((await home.ok(['sandbox', 'ls'])).match(/\/(beside|shared) +running/g)).toHaveLength(2);
    await using other = home.sit(['shell', '--new', 'shared', '--', 'sh']);
    other.type('echo another te$((1))rminal\r');
    await other.sees('te1rminal');
    other.type(detach);
    expect(await other.over).toBe(0);
    me.resize(100, 30);
    me.type('until [ "$(stty size)" = "30 100" ]; do sleep 0.1; done; echo resi$((42))zed\r');
    await me.sees('resi42zed');
    expect(await home.ok(['sandbox', 'stop', 'shared'])).toContain('stopped');
    expect(await me.over).toBeGreaterThan(0);
  });

  it('a terminal without a size works', async () => {
    await home.ok(['sandbox', 'create', 'sizeless']);
    const { pid } = await home.host();
    await using me = home.sit(['sandbox', 'exec', 'sizeless', '--', 'echo', 'well'], { columns: 0, rows: 0 });
    expect([await me.over, me.written()]).toEqual([0, 'well\r\n']);
    expect((await home.host()).pid).toBe(pid);
  });

  it('closing a window ends its command; processes in the sandbox keep running', async () => {
    await using me = home.sit(['shell', 'window']);
    me.type('echo rea$((1))dy\r');
    await me.sees('rea1dy');
    me.close();
    expect(await me.over).toBeGreaterThan(0);
    expect(await running(home, 'window')).toHaveLength(1);
  });

  it('SBX-6: 20 simultaneous commands without a host start one host and get their own results', async () => {
    await home.ok(['sandbox', 'create', 'many']);
    await home.ok(['host', 'stop']);
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        home.run(
          ['sandbox', 'exec', 'many', '--', 'sh', '-c', `cat; echo ${index} >> runs; exit ${index}`],
          `in ${index}`,
        ),
      ),
    );
    expect(outcomes).toEqual(outcomes.map((_, code) => ({ code, stdout: `in ${code}`, stderr: '' })));
    const runs = (await home.ok(['sandbox', 'exec', 'many', '--', 'cat', 'runs'])).trim().split('\n');
    expect(runs.map(Number).sort((a, b) => a - b)).toEqual(outcomes.map((_, code) => code));
  });

  it('an interrupt ends only its own command', async () => {
    await home.ok(['sandbox', 'create', 'two']);
    const args = ['sandbox', 'exec', '--timeout', '0', 'two', '--', 'sh', '-c'] as const;
    const first = await started(home, ...args, 'echo up; exec sleep 1111');
    const second = await started(home, ...args, 'echo up; exec sleep 2222');
    first.child.kill('SIGINT');
    await first.over;
    expect(first.child.exitCode).toBe(130);
    expect(await running(home, 'two')).toEqual(['echo up; exec sleep 2222']);
    second.child.kill('SIGTERM');
    await second.over;
    expect(second.child.exitCode).toBe(143);
    expect(await running(home, 'two')).toEqual(['echo up; exec sleep 2222']);
  });

  it('PROC-1: kill -9 of a command leaves its process and the host running', async () => {
    await home.ok(['sandbox', 'create', 'orphan']);
    const { pid } = await home.host();
    const args = ['sandbox', 'exec', '--timeout', '0', 'orphan'] as const;
    const killed = await started(home, ...args, '--', 'sh', '-c', 'echo up; exec sleep 1111');
    const asked = home.start(...args, '--json', '--', 'sleep', '2222');
    await patiently(async () => (await running(home, 'orphan')).length === 2, 'both');
    for (const child of [killed.child, asked]) {
      const over = once(child, 'close');
      child.kill('SIGKILL');
      await over;
    }
    expect(await running(home, 'orphan')).toHaveLength(2);
    await using me = home.sit(['shell', 'orphan']);
    me.type('echo he$((1))re\r');
    await me.sees('he1re');
    me.signal('SIGKILL');
    await me.over;
    await using again = home.sit(['shell', 'orphan']);
    await again.sees('he1re');
    again.type('exit 4\r');
    expect(await again.over).toBe(4);
    expect((await home.host()).pid).toBe(pid);
  });

  it('a slow reader delays only its own command, and loses no byte', async () => {
    await home.ok(['sandbox', 'create', 'slow']);
    const bytes = 64 * 1024 * 1024;
    const child = home.start(
      'sandbox',
      'exec',
      '--timeout',
      '600',
      'slow',
      '--',
      'sh',
      '-c',
      `yes | head -c ${bytes}; echo end >&2`,
    );
    child.stdout.pause();
    const words = once(child.stderr, 'data');
    const over = once(child, 'close');
    const far = async () => {
      const { processes } = await home.json<ProcessList>(['sandbox', 'ps', 'slow']);
      return processes.some(({ offset, state }) => state === 'running' && offset > 4 * 1024 * 1024);
    };
    await patiently(far, 'what is written ahead');
    const { pid } = await home.host();
    expect(await residentBytes(pid)).toBeLessThan(400 * 1024 * 1024);
    expect(await home.ok(['sandbox', 'exec', 'slow', '--', 'echo', 'quick'])).toBe('quick\n');
    let seen = 0;
    child.stdout.on('data', (piece: Buffer) => {
      seen += piece.length;
    });
    child.stdout.resume();
    await Promise.all([words, over]);
    expect([seen, child.exitCode]).toEqual([bytes, 0]);
  });

  it('a closed reader ends its command as on a pipe, and a full disk is reported', async () => {
    await home.ok(['sandbox', 'create', 'pipe']);
    const shell = (script: string) =>
      spawn('bash', ['-c', script, process.execPath, geodeProgram], { env: home.env, cwd: home.folder });
    const headed = shell('"$0" "$1" sandbox exec pipe -- yes | head -n 1; echo $PIPESTATUS');
    expect(await text(headed.stdout)).toBe('y\n141\n');
    await patiently(async () => (await running(home, 'pipe')).length === 0, 'the end of its process');
    const full = shell('"$0" "$1" sandbox exec pipe -- echo word > /dev/full; echo $?');
    const words = await Promise.all([text(full.stdout), text(full.stderr)]);
    expect(words).toEqual(['1\n', expect.stringContaining('ENOSPC')]);
  });

  it('uses paths, variables and colours of the calling terminal, and does not read stdin', async () => {
    await home.ok(['sandbox', 'create', 'typed']);
    await home.ok(['sandbox', 'exec', 'typed', '--', 'sh', '-c', 'echo word > file; chmod 664 file']);
    const copy = 'umask $2; "$0" "$1" sandbox cp typed:file to-$2 2> /dev/null; stat -c %a to-$2';
    for (const [umask, mode] of [
      ['077', '600\n'],
      ['002', '664\n'],
    ] as const) {
      const copied = spawn('sh', ['-c', copy, process.execPath, geodeProgram, umask], {
        env: home.env,
        cwd: home.folder,
      });
      expect(await text(copied.stdout)).toBe(mode);
    }
    const shown = await home.run(
      ['sandbox', 'exec', '-e', 'WORD', 'typed', '--', 'sh', '-c', 'echo $WORD'],
      '',
      {
        WORD: 'passed on',
      },
    );
    expect(shown.stdout).toBe('passed on\n');
    const unset = await home.run(['sandbox', 'exec', '-e', 'WORD', 'typed', '--', 'true']);
    expect(unset).toMatchObject({ code: 2, stderr: expect.stringContaining('--env WORD') });
    await home.ok(['sandbox', 'snapshot', 'typed']);
    await home.ok(['sandbox', 'exec', 'typed', '--', 'touch', 'new']);
    expect(await home.ok(['sandbox', 'diff', 'typed'])).toBe('A new\n');
    const coloured = await home.run(['sandbox', 'diff', 'typed'], '', { FORCE_COLOR: '1', NO_COLOR: '' });
    expect(coloured.stdout).toBe('\x1b[32mA new\x1b[39m\n');
    const loop = 'while read line; do "$0" "$1" sandbox ps typed > out; echo $line; done';
    const lines = spawn('sh', ['-c', loop, process.execPath, geodeProgram], {
      env: home.env,
      cwd: home.folder,
    });
    lines.stdin.end('one\ntwo\nthree\n');
    expect(await text(lines.stdout)).toBe('one\ntwo\nthree\n');
  });
});

async function residentBytes(pid: number): Promise<number> {
  const kilobytes = /VmRSS:\s+(\d+) kB/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) * 1024;
}
