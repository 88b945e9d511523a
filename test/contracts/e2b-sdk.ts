import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { Sandbox as CodeSandbox } from '@e2b/code-interpreter';
import { CommandExitError, FileNotFoundError, Sandbox, TimeoutError } from 'e2b';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { onWall, type Wall } from '../fixtures/walls.ts';
import { type HostWorld, hostWorld, type OpenedHost } from '../host/world.ts';
import { eventually } from './harness.ts';

/** E2B's own SDKs against a host, as their users call them. */
export function e2bSdk(wall: Wall, has: { readonly javascript: boolean; readonly home: boolean }): void {
  const settings = onWall(inject('engines'), wall);
  const isMissing = typeof settings === 'string';
  const skipped = isMissing ? ` (skipped: ${settings})` : '';
  describe.skipIf(isMissing)(
    `the public SDK of E2B, unchanged, on ${wall}${skipped}`,
    { timeout: 180_000 },
    () => {
      let world: HostWorld;
      let opened: OpenedHost;
      let options: { apiKey: string; apiUrl: string; sandboxUrl: string };
      let sandbox: Sandbox;

      const connection = (one: OpenedHost, apiKey: string) => {
        const url = `${one.gateway.url}/e2b`;
        return { apiKey, apiUrl: url, sandboxUrl: url };
      };

      beforeAll(async () => {
        world = hostWorld(isMissing ? {} : settings);
        opened = await world.open();
        options = connection(opened, opened.gateway.secret ?? '');
        sandbox = await Sandbox.create({
          ...options,
          metadata: { purpose: 'all of the tests' },
          envs: { COLOUR: 'blue' },
        });
      }, 120_000);
      afterAll(() => world?.[Symbol.asyncDispose](), 120_000);

      it('API-2: creates a sandbox, finds it, shows its facts, and kills it', async () => {
        const own = await Sandbox.create({
          ...options,
          metadata: { 'a key': 'a value & more' },
          timeoutMs: 60_000,
        });
        expect(await own.isRunning()).toBe(true);
        const info = await own.getInfo();
        expect(info).toMatchObject({
          sandboxId: own.sandboxId,
          metadata: { 'a key': 'a value & more' },
          state: 'running',
        });
        expect(info.endAt.getTime() - info.startedAt.getTime()).toBeGreaterThan(50_000);
        const listed = await Sandbox.list({
          ...options,
          query: { metadata: { 'a key': 'a value & more' } },
        }).nextItems();
        expect(listed.map(({ sandboxId }) => sandboxId)).toEqual([own.sandboxId]);
        const oldest = await Sandbox.list({
          ...options,
          order: 'asc',
          query: { template: 'base' },
        }).nextItems();
        expect(oldest.map(({ sandboxId }) => sandboxId)).toEqual([sandbox.sandboxId, own.sandboxId]);
        const later = { startedAfter: new Date(Date.now() + 60_000) };
        expect(await Sandbox.list({ ...options, query: later }).nextItems()).toEqual([]);
        const bound = { startedAfter: (await own.getInfo()).startedAt };
        const since = await Sandbox.list({ ...options, query: bound }).nextItems();
        expect(since.map(({ sandboxId }) => sandboxId)).toContain(own.sandboxId);
        const pages = Sandbox.list({ ...options, limit: 1 });
        const ids: string[] = [];
        while (pages.hasNext) ids.push(...(await pages.nextItems()).map(({ sandboxId }) => sandboxId));
        expect(ids).toEqual([own.sandboxId, sandbox.sandboxId]);
        expect(await own.kill()).toBe(true);
        expect(await own.kill()).toBe(false);
        expect(await own.isRunning()).toBe(false);
        await expect(own.commands.run('true')).rejects.toThrow(/not running anymore|not found/);
        await expect(Sandbox.connect(own.sandboxId, options)).rejects.toThrow(/not found/);
      });

      it('API-2: runs commands, with their output as it comes, their exit code, input, folder and variables', async () => {
        const pieces: string[] = [];
        const result = await sandbox.commands.run('echo one; echo two >&2; echo $COLOUR-$SIZE; pwd', {
          envs: { SIZE: 'large' },
          cwd: '/home/user',
          onStdout: (piece) => void pieces.push(piece),
        });
        expect(result).toMatchObject({ exitCode: 0, stderr: 'two\n' });
        expect(result.stdout).toBe(`one\nblue-large\n${has.home ? '/home/user' : '/workspace'}\n`);
        expect(pieces.join('')).toBe(result.stdout);
        const failed = await sandbox.commands.run('echo why >&2; exit 3').catch((error: unknown) => error);
        expect(failed).toBeInstanceOf(CommandExitError);
        expect(failed).toMatchObject({ exitCode: 3, stderr: 'why\n' });
        const reading = await sandbox.commands.run('cat; echo end', { background: true, stdin: true });
        await reading.sendStdin('typed\n');
        expect((await sandbox.commands.list()).map(({ pid }) => pid)).toContain(reading.pid);
        await reading.closeStdin();
        expect((await reading.wait()).stdout).toBe('typed\nend\n');
      });

      it('API-2: leaves a command running, comes back to it, and kills it', async () => {
        const first = await sandbox.commands.run('while true; do echo tick; sleep 0.1; done', {
          background: true,
          timeoutMs: 0,
        });
        await first.disconnect();
        let heard = '';
        const again = await sandbox.commands.connect(first.pid, {
          timeoutMs: 0,
          onStdout: (piece) => {
            heard += piece;
          },
        });
        await eventually(async () => heard.includes('tick'), 'the output of the command');
        expect(await again.kill()).toBe(true);
        await expect(again.wait()).rejects.toThrow(CommandExitError);
        expect(await sandbox.commands.kill(first.pid)).toBe(false);
        await expect(sandbox.commands.run('sleep 60', { timeoutMs: 300 })).rejects.toThrow(TimeoutError);
        await eventually(
          async () =>
            !(await sandbox.commands.list()).some(({ args }) => args.join(' ').includes('sleep 60')),
          'the end of the command whose time was up',
        );
      });

      it('API-2: opens a terminal', async () => {
        let shown = '';
        const decoder = new TextDecoder();
        const terminal = await sandbox.pty.create({
          ...{ cols: 80, rows: 24, timeoutMs: 0 },
          onData: (bytes) => {
            shown += decoder.decode(bytes);
          },
        });
        await sandbox.pty.resize(terminal.pid, { cols: 101, rows: 33 });
        await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode('stty size; exit\n'));
        await terminal.wait();
        expect(shown).toContain('33 101');
      });

      it('API-2: writes, reads, lists, moves and removes files', async () => {
        const { files } = sandbox;
        expect(await files.write('notes/a.txt', 'first')).toMatchObject({
          name: 'a.txt',
          path: '/home/user/notes/a.txt',
        });
        expect(await files.read('/home/user/notes/a.txt')).toBe('first');
        const many = await files.write([
          { path: 'notes/b.bin', data: new Uint8Array([0, 1, 255]).buffer },
          { path: 'notes/ü c.txt', data: 'third' },
        ]);
        expect(many).toHaveLength(2);
        expect([...(await files.read('notes/b.bin', { format: 'bytes' }))]).toEqual([0, 1, 255]);
        const large = Buffer.alloc(3_000_000, 'abc');
        await files.write('large', new Blob([large]).stream(), { gzip: true });
        expect(await files.getInfo('large')).toMatchObject({
          size: large.length,
          type: 'file',
          owner: 'user',
        });
        expect(await files.makeDir('folder')).toBe(true);
        expect(await files.makeDir('folder')).toBe(false);
        await files.rename('notes/a.txt', 'folder/z.txt');
        expect(await files.exists('notes/a.txt')).toBe(false);
        const listed = await files.list('.', { depth: 2 });
        expect(listed.map(({ path }) => path)).toEqual(
          expect.arrayContaining(['/home/user/folder/z.txt', '/home/user/notes/ü c.txt']),
        );
        await files.remove('folder');
        expect(await files.exists('folder/z.txt')).toBe(false);
        await expect(files.read('nowhere')).rejects.toThrow(FileNotFoundError);
        await expect(files.list('large')).rejects.toThrow(/not a directory/);
        const seen = has.home ? '/home/user/notes' : 'notes';
        expect((await sandbox.commands.run(`cat "${seen}/ü c.txt"`)).stdout).toBe('third');
      });

      it('API-2: refuses incomplete files and files as another user, and keeps the earlier content', async () => {
        const { files } = sandbox;
        await files.write('packed.txt', 'before');
        const token = Reflect.get(sandbox, 'envdAccessToken') as string;
        const packed = gzipSync(Buffer.alloc(100_000, 'x'));
        const send = (body: Uint8Array<ArrayBuffer>, encoding: string) =>
          fetch(`${options.apiUrl}/files?path=packed.txt`, {
            method: 'POST',
            body,
            headers: {
              'content-type': 'application/octet-stream',
              'content-encoding': encoding,
              'e2b-sandbox-id': sandbox.sandboxId,
              'x-access-token': token,
            },
          });
        expect((await send(new Uint8Array(packed.subarray(0, 40)), 'gzip')).status).toBe(400);
        expect((await send(new Uint8Array([1, 2, 3]), 'gzip')).status).toBe(400);
        expect((await send(new Uint8Array(packed), 'br')).status).toBe(415);
        expect(await files.read('packed.txt')).toBe('before');
        expect((await send(new Uint8Array(packed), 'gzip')).status).toBe(200);
        expect((await files.read('packed.txt')).length).toBe(100_000);
        await expect(files.write('a.txt', 'a', { user: 'root' })).rejects.toThrow(/root/);
        await expect(files.list('.', { user: 'root' })).rejects.toThrow(/root/);
      });

      it('API-2: reports a failed stream in its last frame', async () => {
        await expect(sandbox.files.watchDir('nowhere', () => {})).rejects.toThrow(FileNotFoundError);
        await expect(sandbox.commands.connect(999_999)).rejects.toThrow(/999999/);
        await expect(sandbox.commands.run('true', { cwd: '/nowhere' })).rejects.toThrow(/nowhere/);
      });

      it('API-2: sends keepalives while a command is silent, at the requested interval', async () => {
        // It is silent until a keepalive has come.
        const heard = `heard-${randomUUID()}`;
        const wait = `until [ -e ${heard} ]; do sleep 0.1; done`;
        const call = JSON.stringify({ process: { cmd: '/bin/sh', args: ['-c', wait] }, stdin: false });
        const head = Buffer.alloc(5);
        head.writeUInt32BE(call.length, 1);
        const response = await fetch(`${options.apiUrl}/process.Process/Start`, {
          method: 'POST',
          body: new Uint8Array(Buffer.concat([head, Buffer.from(call)])),
          headers: {
            'content-type': 'application/connect+json',
            'keepalive-ping-interval': '1',
            'e2b-sandbox-id': sandbox.sandboxId,
            'x-access-token': Reflect.get(sandbox, 'envdAccessToken') as string,
          },
        });
        let stream = '';
        let isHeard = false;
        for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
          stream += piece;
          if (isHeard || !stream.includes('"keepalive":{}')) continue;
          isHeard = true;
          await sandbox.files.write(heard, '');
        }
        expect(isHeard).toBe(true);
        expect(stream).toContain('"exitCode":0');
      });

      it('API-2: reports changes in a folder', async () => {
        await sandbox.files.makeDir('watched');
        const seen: string[] = [];
        const watch = await sandbox.files.watchDir(
          'watched',
          ({ name, type }) => void seen.push(`${type} ${name}`),
        );
        await sandbox.files.write('watched/new.txt', 'new');
        await eventually(async () => seen.includes('write new.txt'), 'the write');
        await sandbox.commands.run('cd watched && echo more >> new.txt && mv new.txt old.txt');
        await eventually(async () => seen.some((event) => event.startsWith('rename ')), 'the move');
        expect(seen.join()).not.toContain('.geode-');
        await watch.stop();
      });

      it('API-2: signs URLs that read and write one file, and nothing else', async () => {
        await sandbox.files.write('signed.txt', 'by URL');
        const url = await sandbox.downloadUrl('signed.txt', { useSignatureExpiration: 60 });
        expect(await (await fetch(url)).text()).toBe('by URL');
        const other = new URL(url);
        other.searchParams.set('path', 'notes/b.bin');
        expect((await fetch(other)).status).toBe(401);
        const late = await sandbox.downloadUrl('signed.txt', { useSignatureExpiration: -1 });
        expect((await fetch(late)).status).toBe(401);
        const form = new FormData();
        form.append('file', new Blob(['uploaded']), 'signed.txt');
        expect(
          (await fetch(await sandbox.uploadUrl('signed.txt'), { method: 'POST', body: form })).status,
        ).toBe(200);
        expect(await sandbox.files.read('signed.txt')).toBe('uploaded');
      });

      it('API-2: ends a sandbox at its timeout, and extends the timeout', async () => {
        // On a slow machine the time of the first may be up before it is extended.
        const extended = async (timeoutMs: number): Promise<Sandbox> => {
          const made = await Sandbox.create({ ...options, timeoutMs });
          const isInTime = await made.setTimeout(300_000).then(
            () => true,
            () => false,
          );
          return isInTime || timeoutMs > 60_000 ? made : extended(timeoutMs * 10);
        };
        const kept = await extended(1_000);
        const short = await Sandbox.create({ ...options, timeoutMs: 1_500 });
        await eventually(async () => !(await short.isRunning()), 'the end of its time');
        expect((await opened.host.sandboxes.all()).map(({ chat }) => chat)).not.toContain(short.sandboxId);
        expect(await kept.isRunning()).toBe(true);
        await kept.kill();
      });

      it('API-2: pauses with its processes, and continues on connect', async () => {
        const own = await Sandbox.create(options);
        const counting = await own.commands.run(
          'i=0; while true; do i=$((i+1)); echo $i > count; sleep 0.05; done',
          {
            ...{ background: true, timeoutMs: 0 },
          },
        );
        await eventually(() => own.files.exists('count'), 'the count');
        expect(await own.pause()).toBe(true);
        expect(await own.pause()).toBe(false);
        expect(await own.getMetrics()).toEqual([]);
        await expect(own.setTimeout(1_000)).rejects.toThrow(/paused/);
        expect((await Sandbox.getInfo(own.sandboxId, options)).state).toBe('paused');
        await expect(own.commands.run('true')).rejects.toThrow();
        const again = await Sandbox.connect(own.sandboxId, options);
        const before = Number(await again.files.read('count'));
        await eventually(async () => Number(await again.files.read('count')) > before, 'a higher count');
        expect((await again.commands.list()).map(({ pid }) => pid)).toContain(counting.pid);
        await again.kill();
      });

      it('API-2: pauses at its timeout when requested, and resumes on a request', async () => {
        const paused = async ({ sandboxId }: Sandbox) =>
          (await Sandbox.getInfo(sandboxId, options)).state === 'paused';
        const lifecycle = { onTimeout: 'pause', autoResume: true } as const;
        const waking = await Sandbox.create({ ...options, timeoutMs: 1_000, lifecycle });
        await eventually(() => paused(waking), 'the pause');
        expect((await waking.commands.run('echo awake')).stdout).toBe('awake\n');
        expect((await waking.getInfo()).endAt.getTime()).toBeGreaterThan(Date.now() + 200_000);
        await waking.kill();
        const onTimeout = { action: 'pause', keepMemory: false } as const;
        const files = await Sandbox.create({ ...options, timeoutMs: 120_000, lifecycle: { onTimeout } });
        await files.commands.run('sleep 1000', { background: true, timeoutMs: 0 });
        await files.files.write('kept.txt', 'kept');
        await files.setTimeout(1_000);
        await eventually(() => paused(files), 'the stop');
        await expect(files.commands.run('true')).rejects.toThrow();
        const again = await Sandbox.connect(files.sandboxId, options);
        expect(await again.files.read('kept.txt')).toBe('kept');
        expect(await again.commands.list()).toEqual([]);
        await again.kill();
      });

      it('API-2: forks, and keeps snapshots that outlive their sandbox', async () => {
        const own = await Sandbox.create(options);
        await own.files.write('state.txt', 'one');
        const [fork] = await own.fork();
        if (!(fork instanceof Sandbox)) throw new Error('no fork');
        const { snapshotId } = await own.createSnapshot({ name: 'before' });
        await own.files.write('state.txt', 'two');
        expect(await fork.files.read('state.txt')).toBe('one');
        const known = await own.listSnapshots().nextItems();
        expect(known).toEqual([{ snapshotId, names: ['before'] }]);
        await own.kill();
        const restored = await Sandbox.create(snapshotId, options);
        expect(await restored.files.read('state.txt')).toBe('one');
        for (const each of [fork, restored]) await each.kill();
        expect(await Sandbox.deleteSnapshot(snapshotId, options)).toBe(true);
        expect(await Sandbox.deleteSnapshot(snapshotId, options)).toBe(false);
      });

      it('API-2: has no network by default, and refuses unsupported settings', async () => {
        const policy = async ({ sandboxId }: Sandbox) =>
          (await opened.host.sandboxes.of('local').egress(sandboxId))?.policy;
        const closed = await Sandbox.create({ ...options, allowInternetAccess: false });
        expect((await policy(closed))?.mode).toBe('deny-all');
        await closed.updateNetwork({ allowOut: ['example.com'], denyOut: ['0.0.0.0/0'] });
        expect(await policy(closed)).toMatchObject({ mode: 'allow-list', allow: [{ host: 'example.com' }] });
        await closed.updateNetwork({});
        expect((await policy(closed))?.mode).toBe('allow-all');
        await closed.kill();
        expect(await policy(sandbox)).toBeUndefined();
        await expect(Sandbox.create('no-such-template', options)).rejects.toThrow(/no-such-template/);
        await expect(Sandbox.create({ ...options, volumeMounts: { '/data': 'volume' } })).rejects.toThrow(
          /Volumes/,
        );
        const metrics = await sandbox.getMetrics();
        expect(metrics[0]?.memUsed).toBeGreaterThan(0);
        const before = { start: new Date(0), end: new Date(1_000) };
        expect(await sandbox.getMetrics(before)).toEqual([]);
      });

      it('API-2: runs code that keeps variables, and returns its results', async () => {
        const code = await CodeSandbox.create(options);
        // Two at once are the first: both run in the same interpreter.
        await Promise.all([code.runCode('x = 40'), code.runCode('y = 1')]);
        await code.runCode('x += y');
        const execution = await code.runCode('print("out"); x + 1');
        expect(execution).toMatchObject({ text: '42', logs: { stdout: ['out\n'] } });
        expect((await code.runCode('1 / 0')).error).toMatchObject({ name: 'ZeroDivisionError' });
        expect((await code.runCode('pass')).executionCount).toBe(6);
        const variable = 'import os; os.environ.get("GREETING")';
        const greeted = await code.runCode(variable, { envs: { GREETING: `it's "quoted"\n` } });
        expect(greeted.text).toBe(String.raw`'it\'s "quoted"\n'`);
        expect((await code.runCode(variable)).text).toBeUndefined();
        const language = has.javascript ? 'javascript' : 'python';
        const other = await code.createCodeContext({ language });
        expect((await code.runCode('6 * 7', { context: other })).text).toBe('42');
        if (has.javascript) {
          const asked = { context: other, envs: { GREETING: 'hi' } };
          expect((await code.runCode('process.env.GREETING', asked)).text).toContain('hi');
          expect((await code.runCode('process.env.GREETING ?? "none"', { context: other })).text).toContain(
            'none',
          );
        }
        const shell = { language: 'bash' } as const;
        const begun = 'cd /tmp; size=large; twice() { echo "$1$1"; }';
        await code.runCode(begun, { ...shell, envs: { ONCE: 'yes' } });
        const script = await code.runCode('pwd; twice $size; echo "once: $ONCE"; echo why >&2', shell);
        expect(script.logs.stdout.join('')).toBe('/tmp\nlargelarge\nonce: \n');
        expect(script.logs.stderr.join('')).toBe('why\n');
        const lines = await code.runCode("name = 'a b'\n!echo shell {name}\nfound = !printf 'c\\nd'\nfound");
        expect(lines).toMatchObject({ text: "['c', 'd']", logs: { stdout: ['shell a b\n'] } });
        const table = await code.runCode('display.table([{"a": 1, "b": "x"}, {"a": None, "b": "y"}])');
        expect(table.results[0]?.data).toEqual({ a: [1, null], b: ['x', 'y'] });
        const languages = (await code.listCodeContexts()).map((each) => each.language);
        expect(languages.toSorted()).toEqual([language, 'python', 'bash'].toSorted());
        await code.removeCodeContext(other);
        const unused = await CodeSandbox.create(options);
        expect(await unused.listCodeContexts()).toMatchObject([{ language: 'python', cwd: '/home/user' }]);
        await unused.kill();
        // Running programs are gone with the memory: new code starts a new interpreter instead of failing.
        await code.pause({ keepMemory: false });
        const anew = await CodeSandbox.connect(code.sandboxId, options);
        expect((await anew.runCode('"x" in globals()')).text).toBe('False');
        await code.kill();
      });

      it('API-2, SEC-2: shows nothing of one user to another with any token or key', async () => {
        const stranger = opened.host.keys.create({
          user: 'stranger',
          scopes: ['sandboxes:read', 'sandboxes:write', 'runs'],
        });
        const theirs = connection(opened, stranger.secret);
        expect(await Sandbox.list(theirs).nextItems()).toEqual([]);
        await expect(Sandbox.connect(sandbox.sandboxId, theirs)).rejects.toThrow(/not found/);
        expect(await Sandbox.kill(sandbox.sandboxId, theirs)).toBe(false);
        const own = await Sandbox.create(theirs);
        const token = Reflect.get(own, 'envdAccessToken') as string;
        const get = (id: string, headers: Record<string, string>, path = 'health') =>
          fetch(`${theirs.apiUrl}/${path}`, { headers: { 'e2b-sandbox-id': id, ...headers } });
        expect((await get(own.sandboxId, { 'x-access-token': token })).status).toBe(204);
        expect((await get(sandbox.sandboxId, { 'x-access-token': token })).status).toBe(401);
        expect((await get(own.sandboxId, {})).status).toBe(401);
        // The token of a sandbox makes and lists no others.
        expect((await get(own.sandboxId, { 'x-access-token': token }, 'v2/sandboxes')).status).toBe(401);
        const reader = opened.host.keys.create({ user: 'local', scopes: ['sandboxes:read'] });
        await expect(Sandbox.create(connection(opened, reader.secret))).rejects.toThrow(/scope/);
        await own.kill();
      });

      it('API-2: keeps sandboxes, their tokens and their time over a restart of the host', async () => {
        const long = await Sandbox.create({ ...options, timeoutMs: 600_000 });
        await long.files.write('kept.txt', 'still here');
        const short = await Sandbox.create({ ...options, timeoutMs: 2_000 });
        await opened[Symbol.asyncDispose]();
        await delay(2_000);
        opened = await world.open();
        options = connection(opened, options.apiKey);
        const again = await Sandbox.connect(long.sandboxId, options);
        expect(await again.files.read('kept.txt')).toBe('still here');
        await eventually(
          async () =>
            (await Sandbox.list(options).nextItems()).every(({ sandboxId }) => sandboxId !== short.sandboxId),
          'the end of the sandbox whose timeout passed',
        );
        await again.kill();
      });
    },
  );
}
