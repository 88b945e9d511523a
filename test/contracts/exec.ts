import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { isGeodeError } from '../../src/base/errors.ts';
import { proxyVariables } from '../../src/egress/proxy/variables.ts';
import type { ProcessEvent } from '../../src/seams/process.ts';
import type { Sandbox } from '../../src/seams/sandbox.ts';
import { eachOf } from '../each-of.ts';
import { begunBeforeTimeout, eventually, fixtureText, type Harness } from './harness.ts';

const sh = (script: string) => ['/bin/sh', '-c', script] as const;

/** PROC-1, PROC-3, RT-12: commands, their output and their end. */
export function execContract(harness: () => Harness): void {
  describe('exec', () => {
    let sandbox: Sandbox;
    beforeAll(async () => {
      sandbox = await harness().open();
    });

    it('PROC-1: gives stdout, stderr and the exit code', async () => {
      const result = await sandbox.exec({ argv: sh('echo out; echo err >&2; exit 7') });
      expect(result).toMatchObject({
        stdout: 'out\n',
        stderr: 'err\n',
        exitCode: 7,
        signal: null,
        timedOut: false,
        truncated: false,
      });
    });

    it.for([0, 1, 2, 125, 126, 127, 255])('RT-12: passes on exit code %i as it is', async (code) => {
      expect((await sandbox.exec({ argv: sh(`exit ${code}`) })).exitCode).toBe(code);
    });

    it.for(['TERM', 'KILL', 'SEGV', 'USR1'])('RT-12: tells a death by SIG%s from an exit', async (name) => {
      const result = await sandbox.exec({ argv: sh(`kill -${name} $$`) });
      expect(result).toMatchObject({
        exitCode: null,
        signal: `SIG${name}`,
        timedOut: false,
        oomKilled: false,
      });
    });

    it('PROC-1: keeps arguments as they are, never through a shell', async () => {
      const words = ['$HOME', '`id`', 'a b', "'", '"', '\\', '\n', '*', ''];
      const { stdout } = await sandbox.exec({
        argv: ['python3', '-c', 'import sys, json; print(json.dumps(sys.argv[1:]))', ...words],
      });
      expect(JSON.parse(stdout)).toEqual(words);
    });

    it('PROC-1: keeps stdout and stderr apart and in the order of time', async () => {
      const kinds: string[] = [];
      // Each word is written when the one before has arrived: two at once have no order between two streams.
      const script = 'for i in 1 2 3; do echo o$i; read go; echo e$i >&2; read go; done';
      const process = await sandbox.spawn({ argv: sh(script), interactive: true });
      for await (const event of process) {
        if (event.type !== 'stdout' && event.type !== 'stderr') continue;
        kinds.push(Buffer.from(event.bytes).toString().trim());
        await process.write('\n');
      }
      expect(kinds).toEqual(['o1', 'e1', 'o2', 'e2', 'o3', 'e3']);
    });

    it('PROC-1: carries every byte value', async () => {
      const code = 'import sys; sys.stdout.buffer.write(bytes(range(256)) * 300)';
      const { bytes } = await sandbox.exec({ argv: ['python3', '-c', code] });
      expect(
        Buffer.compare(
          bytes.stdout,
          Buffer.concat(Array.from({ length: 300 }, () => Buffer.from([...Array(256).keys()]))),
        ),
      ).toBe(0);
    });

    it('PROC-1: stores 100 MB of output up to the limit and counts the rest', async () => {
      const size = 100 * 1000 * 1000;
      const result = await sandbox.exec(
        { argv: sh(`head -c ${size} /dev/zero; echo end >&2`) },
        { outputLimitBytes: 1_000_000 },
      );
      expect(result.bytes.stdout.length).toBe(1_000_000);
      expect(result.dropped).toEqual({ stdout: size - 1_000_000, stderr: 0 });
      expect(result).toMatchObject({ truncated: true, exitCode: 0, stderr: 'end\n' });
    });

    it('PROC-1: streams 50 MB whole', async () => {
      const hash = createHash('sha256');
      let length = 0;
      for await (const event of await sandbox.spawn({ argv: sh('head -c 50000000 /dev/zero') })) {
        if (event.type !== 'stdout') continue;
        expect(event.offset).toBe(length);
        hash.update(event.bytes);
        length += event.bytes.length;
      }
      expect(length).toBe(50_000_000);
      expect(hash.digest('hex')).toBe(createHash('sha256').update(Buffer.alloc(50_000_000)).digest('hex'));
    });

    it('PROC-1: sends stdin and closes it', async () => {
      expect((await sandbox.exec({ argv: ['wc', '-c'], stdin: 'four' })).stdout.trim()).toBe('4');
      const large = Buffer.alloc(5_000_000, 'x');
      expect((await sandbox.exec({ argv: ['wc', '-c'], stdin: large })).stdout.trim()).toBe('5000000');
    });

    it("PROC-1: without stdin a command reads an empty one, never the host's", async () => {
      expect((await sandbox.exec({ argv: ['cat'] })).stdout).toBe('');
    });

    it('PROC-1: a command that ignores its stdin does not hang', async () => {
      const { exitCode } = await sandbox.exec({ argv: sh('exit 3'), stdin: Buffer.alloc(20_000_000) });
      expect(exitCode).toBe(3);
    });

    it('PROC-1: accepts stdin in pieces and its close', async () => {
      const process = await sandbox.spawn({
        argv: sh('while read line; do echo "got $line"; done; echo closed'),
        interactive: true,
      });
      const output = events(process);
      await process.write('one\n');
      await process.write('two\n');
      await process.closeStdin();
      expect((await output).stdout).toBe('got one\ngot two\nclosed\n');
    });

    it('PROC-1: 200 commands at once', async () => {
      const results = await Promise.all(
        Array.from({ length: 200 }, (_, index) => sandbox.exec({ argv: ['echo', String(index)] })),
      );
      expect(results.map(({ stdout }) => Number(stdout))).toEqual(
        Array.from({ length: 200 }, (_, index) => index),
      );
    });

    it('GL-3: a flood of output without a reader does not delay another command', async () => {
      const flood = await sandbox.spawn({
        argv: sh('while :; do head -c 1000000 /dev/zero; done'),
        timeoutMs: null,
      });
      const results = await Promise.all(
        Array.from({ length: 20 }, () => sandbox.exec({ argv: ['echo', 'ok'] })),
      );
      expect(eachOf(results).every(({ stdout }) => stdout === 'ok\n')).toBe(true);
      await flood.kill();
      expect((await events(flood)).exit?.signal).toBe('SIGKILL');
    });

    it('PROC-3: a timeout kills the whole tree inside and keeps the output', async () => {
      const result = await begunBeforeTimeout(3_000, async (timeoutMs) => {
        await sandbox.files.remove('beats');
        await sandbox.files.mkdir('beats');
        return sandbox.exec({
          argv: ['python3', '-', `${sandbox.workdir}/beats`],
          stdin: await fixtureText('leave-tree.py'),
          timeoutMs,
        });
      });
      expect(result).toMatchObject({
        timedOut: true,
        stdout: 'started\n',
        exitCode: null,
        signal: 'SIGKILL',
      });
      await expectSilence(sandbox, 'beats', 4);
    });

    it('GL-8: a cancel kills the whole tree inside', async () => {
      await sandbox.files.remove('beats');
      await sandbox.files.mkdir('beats');
      const stop = new AbortController();
      const running = sandbox.exec(
        { argv: ['python3', '-', `${sandbox.workdir}/beats`], stdin: await fixtureText('leave-tree.py') },
        { signal: stop.signal },
      );
      await eventually(
        async () => (await sandbox.files.list('beats')).entries.length === 4,
        'the whole tree',
      );
      stop.abort();
      await expect(running).rejects.toMatchObject({ code: 'cancelled' });
      await expectSilence(sandbox, 'beats', 4);
    });

    it('GL-8: a cancel before the start starts nothing', async () => {
      await expect(
        sandbox.exec({ argv: ['touch', 'never'] }, { signal: AbortSignal.abort() }),
      ).rejects.toMatchObject({ code: 'cancelled' });
      expect(await sandbox.files.exists('never')).toBe(false);
    });

    it('PROC-1: a terminal with a size, a resize and an interrupt', async () => {
      const process = await sandbox.spawn({
        argv: sh('stty size; test -t 0 && echo tty; read x; stty size; sleep 100'),
        pty: { columns: 91, rows: 33 },
      });
      const seen = collect(process);
      await eventually(async () => seen.text().includes('tty'), 'the terminal');
      expect(seen.text()).toContain('33 91');
      await process.resize({ columns: 120, rows: 50 });
      await process.write('go\n');
      await eventually(async () => seen.text().includes('50 120'), 'the new size');
      await process.write('\x03');
      await seen.done;
      expect(seen.exit()).toMatchObject({ signal: 'SIGINT' });
    });

    it("RT-9: has its own environment, not the host's", async () => {
      process.env.GEODE_CONTRACT_SECRET = 'host-secret-value';
      const { stdout } = await sandbox.exec({ argv: ['env'], env: { MINE: 'a b=c' } });
      delete process.env.GEODE_CONTRACT_SECRET;
      const names = stdout.split('\n').flatMap((line) => (line.includes('=') ? [line.split('=', 1)[0]] : []));
      expect(stdout).toContain('MINE=a b=c');
      expect(stdout).not.toContain('host-secret-value');
      // A sandbox that stays has a hatch, whose variables lead to loopback inside of it.
      const own = Object.keys(proxyVariables({ name: 'proxy', port: 3128, path: '/a/socket' }));
      const usual = ['PATH', 'HOME', 'LANG', 'USER', 'MINE', 'PWD', 'SHLVL', '_', ...own];
      expect(names.filter((name) => !usual.includes(name ?? ''))).toEqual([]);
      for (const [, value] of stdout.matchAll(/^(?:HTTP|HTTPS|ALL)_PROXY=(.*)$/gim))
        expect(value).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    });

    it('RT-9: values of variables never appear on a command line', async () => {
      const own = await harness().open({ env: { TOKEN: 'sandbox-secret-value' } });
      expect(
        (await own.exec({ argv: sh('echo $TOKEN $EXTRA'), env: { EXTRA: 'command-secret-value' } })).stdout,
      ).toBe('sandbox-secret-value command-secret-value\n');
      const { stdout } = await own.exec({
        argv: sh('cat /proc/[0-9]*/cmdline'),
        env: { EXTRA: 'command-secret-value' },
      });
      expect(stdout).not.toMatch(/sandbox-secret-value|command-secret-value/);
      await own.stop();
    });

    it('PROC-1: starts in the workdir, or in the given folder', async () => {
      await sandbox.files.mkdir('sub/folder');
      expect((await sandbox.exec({ argv: ['pwd'] })).stdout.trim()).toBe(sandbox.workdir);
      expect((await sandbox.exec({ argv: ['pwd'], cwd: 'sub/folder' })).stdout.trim()).toBe(
        `${sandbox.workdir}/sub/folder`,
      );
      expect((await sandbox.exec({ argv: ['pwd'], cwd: '/' })).stdout.trim()).toBe('/');
    });

    it('RT-12: a program that cannot start is an error, not an exit code', async () => {
      await expect(sandbox.exec({ argv: ['no-such-program'] })).rejects.toMatchObject({
        code: 'spawn_failed',
      });
      await expect(sandbox.exec({ argv: ['true'], cwd: 'no/such/folder' })).rejects.toMatchObject({
        code: 'spawn_failed',
      });
      await sandbox.files.write('not-executable', 'x');
      await expect(sandbox.exec({ argv: ['./not-executable'] })).rejects.toMatchObject({
        code: 'spawn_failed',
      });
    });

    it('PROC-1: refuses invalid arguments, timeouts and variables of a command', async () => {
      await expect(sandbox.exec({ argv: [''] })).rejects.toMatchObject({ code: 'invalid_input' });
      await expect(sandbox.exec({ argv: ['a\0b'] })).rejects.toMatchObject({ code: 'invalid_input' });
      await expect(sandbox.exec({ argv: ['true'], timeoutMs: 0 })).rejects.toMatchObject({
        code: 'invalid_input',
      });
      await expect(sandbox.exec({ argv: ['true'], timeoutMs: Number.NaN })).rejects.toMatchObject({
        code: 'invalid_input',
      });
      await expect(sandbox.exec({ argv: ['true'], env: { 'A=B': 'c' } })).rejects.toMatchObject({
        code: 'invalid_input',
      });
      await expect(sandbox.exec({ argv: ['true', 'x'.repeat(2_000_000)] })).rejects.toMatchObject({
        code: 'too_large',
      });
    });

    it('PROC-1: limits a single command', async () => {
      expect((await sandbox.exec({ argv: sh('ulimit -n'), rlimits: { nofile: 77 } })).stdout.trim()).toBe(
        '77',
      );
      const { exitCode } = await sandbox.exec({
        argv: sh('head -c 100000 /dev/zero > big'),
        rlimits: { fsize: 10_000 },
      });
      expect(exitCode).not.toBe(0);
    });

    it('PROC-1: runs as another user, or refuses it when the runtime cannot', async () => {
      const { users } = harness().capabilities;
      const owner = users === 'root-access' ? await harness().open({ rootAccess: true }) : sandbox;
      const attempt = owner.exec({ argv: ['id', '-u'], user: '1234:1234', cwd: '/' });
      if (users === 'never') await expect(attempt).rejects.toMatchObject({ code: 'cannot_enforce' });
      else expect((await attempt).stdout.trim()).toBe('1234');
    });

    it('PROC-1: writes the files of a command first; starts nothing when a file cannot be written', async () => {
      const bytes = Buffer.from([0, 255, 10, 13]);
      const { stdout } = await sandbox.exec({
        argv: ['cat', 'along/a b', 'along/é'],
        files: { 'along/a b': Buffer.from('text '), 'along/é': bytes },
      });
      expect(stdout).toBe(`text ${bytes.toString()}`);
      const outside = sandbox.exec({ argv: ['touch', 'started'], files: { '../out': bytes } });
      await expect(outside).rejects.toMatchObject({ code: 'invalid_path' });
      expect(await sandbox.files.exists('started')).toBe(false);
    });

    it('PROC-3: the exit of a sole command ends all other processes of the sandbox', async () => {
      const own = await harness().open();
      const script = 'sleep 1000 & setsid sleep 1000 & (setsid sh -c "sleep 1000 & exit") & echo left';
      expect((await own.exec({ argv: sh(script), sole: true })).stdout).toBe('left\n');
      // Where the link goes through a process in the sandbox, that ends with the rest, and another is started.
      const left = () =>
        own.processes().catch((error) => (isGeodeError(error, 'link_lost') ? null : Promise.reject(error)));
      await eventually(async () => (await left())?.disowned.length === 0, 'the end of the rest');
      await expect(own.exec({ argv: sh('true') })).rejects.toMatchObject({ code: 'spawn_failed' });
      await own.stop();
    });

    it('GL-8: answers a ping; a ping of an ended sandbox fails with sandbox_gone', async () => {
      const own = await harness().open();
      await own.ping();
      await own.stop();
      await expect(own.ping()).rejects.toMatchObject({ code: 'sandbox_gone' });
    });

    it('PROC-1: lists processes with their children, also disowned ones', async () => {
      const process = await sandbox.spawn({ argv: sh('sleep 61 & echo ready; wait'), timeoutMs: null });
      const reading = collect(process);
      await eventually(async () => reading.text().includes('ready'), 'the child');
      const running = (await sandbox.processes()).processes.find(({ id }) => id === process.id);
      expect(running).toMatchObject({ state: 'running', pid: process.pid });
      expect(running?.children.map(({ command }) => command).join()).toContain('sleep');
      await process.kill();
      await reading.done;
      await sandbox.exec({ argv: sh('(setsid sleep 62 > /dev/null 2>&1 < /dev/null &)') });
      const orphan = await eventually(
        async () => (await sandbox.processes()).disowned.find(({ command }) => command.includes('sleep 62')),
        'the orphan',
      );
      await sandbox.exec({ argv: sh(`kill -9 ${orphan.pid}`) });
    });

    it('PROC-1: signals by name', async () => {
      const process = await sandbox.spawn({
        argv: sh('trap "echo usr1" USR1; trap "exit 9" TERM; echo ready; while :; do sleep 0.05; done'),
      });
      const seen = collect(process);
      await eventually(async () => seen.text().includes('ready'), 'the traps');
      await process.signal('SIGUSR1');
      await eventually(async () => seen.text().includes('usr1'), 'the trap');
      await sandbox.signal(process.id, 'SIGTERM');
      await seen.done;
      expect(seen.exit()).toMatchObject({ exitCode: 9 });
      await expect(sandbox.signal('unknown', 'SIGTERM')).rejects.toMatchObject({ code: 'process_not_found' });
    });

    it('PROC-1: a command with opening input runs in the prepared program', async ({ skip }) => {
      await using own = await harness().open();
      if (own.prepare === undefined) return skip('several share such a sandbox');
      const waits = { argv: sh('printf "\\0"; read -r line; echo "$line"; cat'), env: { WAITS: '1' } };
      await own.prepare(waits);
      const opening = Buffer.from('hello\n');
      const taken = await own.exec({ argv: sh('echo another'), opening, stdin: 'stdin' });
      expect(taken).toMatchObject({ stdout: 'hello\nstdin', exitCode: 0 });
      expect(await own.exec({ argv: sh('echo another'), opening })).toMatchObject({ stdout: 'another\n' });
      await own.prepare(waits);
      expect(await own.exec({ argv: sh('cat /proc/[0-9]*/environ | grep -c WAITS') })).toMatchObject({
        stdout: '0\n',
      });
    });

    it('PROC-2: an ended process is read again from its journal, from any offset', async () => {
      const { processId } = await sandbox.exec({ argv: sh('printf 0123456789; exit 4') });
      const again = await events(await sandbox.attach(processId, { from: 4 }));
      expect(again).toMatchObject({ stdout: '456789', exit: { exitCode: 4 } });
      await expect(sandbox.attach('unknown')).rejects.toMatchObject({ code: 'process_not_found' });
    });
  });
}

/** Everything of one process, to its end. */
export async function events(process: AsyncIterable<ProcessEvent>) {
  const seen = collect(process);
  await seen.done;
  return { stdout: seen.text(), exit: seen.exit() };
}

function collect(process: AsyncIterable<ProcessEvent>) {
  let stdout = '';
  let exit: Extract<ProcessEvent, { type: 'exit' }> | undefined;
  const read = async () => {
    for await (const event of process) {
      if (event.type === 'stdout') stdout += Buffer.from(event.bytes).toString();
      if (event.type === 'exit') exit = event;
    }
  };
  return { done: read(), text: () => stdout, exit: () => exit };
}

/** Checks that no process writes its heartbeat: the files stay the same over the time of many heartbeats. */
async function expectSilence(sandbox: Sandbox, folder: string, count: number): Promise<void> {
  const sizes = async () =>
    (await sandbox.files.list(folder)).entries.map(({ name, size }) => `${name}:${size}`);
  const before = await sizes();
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(await sizes()).toEqual(before);
  expect(before).toHaveLength(count);
}
