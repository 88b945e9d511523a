import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { roomOf } from '../../src/runtimes/rooms.ts';
import type { Sandbox } from '../../src/seams/sandbox.ts';
import { events } from './exec.ts';
import { eventually, type Harness } from './harness.ts';

/** GL-2, GL-7, GL-8, RT-3…5: how a sandbox comes, stays and goes. */
export function lifecycleContract(harness: () => Harness): void {
  describe('lifecycle', () => {
    it('RT-3: the probe reports name and version', async () => {
      const found = await harness().runtime.probe();
      expect(found).toMatchObject({ available: true, version: expect.any(String) });
    });

    it('GL-2 RT-5: is ready when open returns, and carries its grade', async () => {
      const sandbox = await harness().open();
      expect((await sandbox.exec({ argv: ['echo', 'hi'] })).stdout).toBe('hi\n');
      const found = await harness().runtime.probe();
      expect(found.available && found.grade).toBe(sandbox.grade);
      expect((await harness().runtime.list()).find(({ id }) => id === sandbox.id)).toMatchObject({
        state: 'running',
        grade: sandbox.grade,
      });
      await sandbox.stop();
    });

    it('stop ends everything, is idempotent, and leaves nothing on the host', async () => {
      const { runtime, options } = harness();
      const sandbox = await harness().open();
      const running = await sandbox.spawn({ argv: ['sleep', '1000'], timeoutMs: null });
      const reading = events(running);
      reading.catch(() => {});
      await Promise.all([sandbox.stop(), sandbox.stop()]);
      await expect(reading).rejects.toMatchObject({ code: 'sandbox_gone' });
      await expect(sandbox.exec({ argv: ['true'] })).rejects.toMatchObject({ code: 'sandbox_gone' });
      await expect(runtime.adopt(sandbox.id)).rejects.toMatchObject({ code: 'sandbox_gone' });
      expect((await runtime.list()).map(({ id }) => id)).not.toContain(sandbox.id);
      const room = roomOf(options, sandbox.id);
      expect([room.folder, room.runFolder].filter(existsSync)).toEqual([]);
    });

    it('stop removes folders that are nested deeper than any path', async () => {
      const { options } = harness();
      const sandbox = await harness().open();
      const dig =
        'import os\nfor _ in range(1500): os.mkdir("deeper"); os.chdir("deeper")\nopen("file", "w").close()';
      expect((await sandbox.exec({ argv: ['python3', '-c', dig] })).exitCode).toBe(0);
      await sandbox.stop();
      expect(existsSync(roomOf(options, sandbox.id).folder)).toBe(false);
    });

    it('disposes with its scope', async () => {
      let id = '';
      {
        await using sandbox = await harness().runtime.open({});
        id = sandbox.id;
      }
      expect((await harness().runtime.list()).map((facts) => facts.id)).not.toContain(id);
    });

    it('GL-7: a host that detaches and attaches again finds the process and every byte of its output', async ({
      skip,
    }) => {
      const { runtime, capabilities } = harness();
      skip(!capabilities.adoption, 'this runtime cannot adopt a sandbox');
      const sandbox = await harness().open();
      const script = 'i=0; while [ $i -lt 300 ]; do echo line $i; i=$((i+1)); sleep 0.01; done; exit 5';
      const process = await sandbox.spawn({ argv: ['/bin/sh', '-c', script], timeoutMs: null });
      for await (const event of process) if (event.type === 'stdout' && event.offset > 200) break;
      await sandbox.release();
      const again = await runtime.adopt(sandbox.id);
      const { stdout, exit } = await events(await again.attach(process.id));
      expect(stdout).toBe(Array.from({ length: 300 }, (_, index) => `line ${index}\n`).join(''));
      expect(exit).toMatchObject({ exitCode: 5 });
      await again.stop();
    });

    it('SBX-4: halted and started again, it has its files, its owner, its journals and fresh processes', async () => {
      const { runtime } = harness();
      const sandbox = await harness().open({ env: { GREETING: 'hello' } });
      await sandbox.files.write('deep/kept.txt', 'kept');
      const before = await sandbox.exec({ argv: ['echo', 'on record'] });
      await sandbox.spawn({ argv: ['sleep', '1000'], timeoutMs: null });
      await runtime.assign(sandbox.id, 'somebody');
      await Promise.all([sandbox.halt(), sandbox.halt()]);
      await expect(sandbox.exec({ argv: ['true'] })).rejects.toMatchObject({ code: 'sandbox_stopped' });
      await expect(sandbox.files.list('.')).rejects.toMatchObject({ code: 'sandbox_stopped' });
      await expect(runtime.adopt(sandbox.id)).rejects.toMatchObject({ code: 'sandbox_gone' });
      const facts = async () => (await runtime.list()).find(({ id }) => id === sandbox.id);
      expect(await facts()).toMatchObject({ state: 'stopped', owner: 'somebody' });

      const again = await runtime.start(sandbox.id);
      expect(await facts()).toMatchObject({ state: 'running', owner: 'somebody' });
      expect(await again.files.readText('deep/kept.txt')).toBe('kept');
      await again.files.write('deep/kept.txt', 'changed');
      expect((await again.processes()).processes).toEqual([]);
      expect((await again.exec({ argv: ['/bin/sh', '-c', 'echo $GREETING'] })).stdout).toBe('hello\n');
      const replayed = await events(await again.attach(before.processId));
      expect(replayed).toMatchObject({ stdout: 'on record\n', exit: { exitCode: 0 } });
      await again.halt();
      const third = await runtime.start(sandbox.id);
      expect(await third.files.readText('deep/kept.txt')).toBe('changed');
      await third.stop();
      expect(await facts()).toBeUndefined();
      await expect(runtime.start(sandbox.id)).rejects.toMatchObject({ code: 'sandbox_gone' });
    });

    it('SBX-6: starts a sandbox whose host was killed while creating its workspace', async () => {
      const { runtime, options } = harness();
      const sandbox = await harness().open();
      await sandbox.halt();
      const room = roomOf(options, sandbox.id);
      for (const name of await readdir(room.folder))
        if (name !== 'record.json') await rm(join(room.folder, name), { recursive: true });
      await writeFile(join(room.folder, 'disk.img.new'), 'half');
      const again = await runtime.start(sandbox.id);
      await again.files.write('written', 'yes');
      expect(await again.files.readText('written')).toBe('yes');
      await again.stop();
      expect(existsSync(room.folder)).toBe(false);
    });

    it('start takes over a running sandbox; a failed start keeps the files', async ({ skip }) => {
      const { runtime, capabilities } = harness();
      skip(!capabilities.adoption, 'this runtime cannot adopt a sandbox');
      const sandbox = await harness().open();
      await sandbox.files.write('kept', 'yes');
      await sandbox.release();
      const again = await runtime.start(sandbox.id);
      await again.halt();
      await expect(runtime.start(sandbox.id, { signal: AbortSignal.abort() })).rejects.toMatchObject({
        code: 'cancelled',
      });
      const stop = new AbortController();
      const starting = runtime.start(sandbox.id, { signal: stop.signal });
      setTimeout(() => stop.abort(), 20);
      await starting.then(
        (started) => started.halt(),
        (error) => expect(error).toMatchObject({ code: 'cancelled' }),
      );
      const third = await runtime.start(sandbox.id);
      expect(await third.files.readText('kept')).toBe('yes');
      await third.stop();
    });

    it('SBX-5: activity counts calls over the link, and when the last one ended', async () => {
      const sandbox = await harness().open();
      const since = sandbox.activity.endedAt;
      expect(sandbox.activity.open).toBe(0);
      const process = await sandbox.spawn({ argv: ['cat'], interactive: true });
      const reading = events(process);
      expect(sandbox.activity.open).toBe(1);
      await process.closeStdin();
      await reading;
      await eventually(async () => sandbox.activity.open === 0, 'the end of the activity');
      const ended = sandbox.activity.endedAt;
      expect(ended).toBeGreaterThanOrEqual(since);
      await sandbox.metrics();
      await sandbox.processes();
      expect(sandbox.activity).toMatchObject({ open: 0, endedAt: ended });
      await sandbox.stop();
    });

    it('GL-8: distinguishes a dead sandbox from a slow one at once', async () => {
      const { runtime } = harness();
      const sandbox = await harness().open();
      const running = sandbox.exec({ argv: ['sleep', '1000'], timeoutMs: null });
      running.catch(() => {});
      await eventually(async () => (await sandbox.processes()).processes.length > 0, 'the command');
      await runtime.remove(sandbox.id);
      const outcome = await running.then(
        ({ signal }) => signal,
        (error) => error.code,
      );
      expect(outcome).toMatch(/^(sandbox_gone|SIGKILL|SIGTERM)$/);
      await expect(sandbox.exec({ argv: ['true'] })).rejects.toMatchObject({ code: 'sandbox_gone' });
      await runtime.remove(sandbox.id);
    });

    it('GL-1: dies when no host comes back within its lease', async () => {
      const { runtime } = harness();
      const sandbox = await harness().open({ leaseMs: 1_000 });
      await sandbox.release();
      await eventually(
        async () => (await runtime.list()).find(({ id }) => id === sandbox.id)?.state === 'stopped',
        'the end of the lease',
      );
      await runtime.remove(sandbox.id);
    });

    it('GL-1: halting or removing a sandbox ends the processes of its killed guest, and no others', async () => {
      const { runtime, options } = harness();
      for (const end of [runtime.halt, runtime.remove]) {
        const seconds = String(100_000 + Math.random() * 100_000);
        const script = `setsid sleep ${seconds} & sleep ${seconds}`;
        const command = { argv: ['/bin/sh', '-c', script], timeoutMs: null } as const;
        const sandbox = await harness().open();
        const { id } = sandbox;
        const room = roomOf(options, id);
        const bystander = await harness().open({ id: `${id}-2` });
        // The machine sees the processes in gVisor as its two programs, a kernel and one for files.
        const runningIn = ({ id }: Pick<Sandbox, 'id'>) =>
          processesOf((words) => words.some((word) => word.includes(`${roomOf(options, id).runFolder}/`)));
        const running = () =>
          harness().isGvisor
            ? [...runningIn(bystander), ...runningIn(sandbox)]
            : processesOf((words) => words[0] === 'sleep' && words[1] === seconds);
        const beside = () => (harness().isGvisor ? runningIn(bystander) : running());
        await bystander.spawn(command);
        await eventually(async () => beside().length === 2, 'the processes beside it');
        const spared = beside();
        await sandbox.spawn(command);
        await eventually(async () => running().length === 4, 'its processes');
        const record = join(room.folder, 'record.json');
        const reader = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)', room.workspace], {
          cwd: room.folder,
          env: { ...process.env, ROOM: room.workspace },
          stdio: 'ignore',
        });
        const { handle } = JSON.parse(await readFile(record, 'utf8'));
        if (/^\d+:/.test(handle)) {
          process.kill(Number.parseInt(handle, 10), 'SIGKILL');
          const stateOf = async () => (await runtime.list()).find((facts) => facts.id === id)?.state;
          await eventually(async () => (await stateOf()) === 'stopped', 'its end');
        }
        await end(id);
        await end(id);
        expect(running()).toEqual(spared);
        await runtime.remove(id);
        expect(reader.exitCode ?? reader.signalCode).toBeNull();
        reader.kill();
        expect((await bystander.exec({ argv: ['echo', 'unharmed'] })).stdout).toBe('unharmed\n');
        await bystander.stop();
      }
    });

    it('tunnels to a port inside, both ways, with half-close', async () => {
      const sandbox = await harness().open();
      const code = [
        'import socket',
        's = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True)',
        'c, _ = s.accept(); d = b""',
        'while (x := c.recv(65536)): d += x',
        'c.sendall(b"%d bytes" % len(d)); c.close()',
      ].join('\n');
      const server = await sandbox.spawn({ argv: ['python3', '-c', code] });
      let port = 0;
      for await (const event of server) {
        if (event.type === 'stdout') port = Number(Buffer.from(event.bytes).toString());
        if (port > 0) break;
      }
      const tunnel = await sandbox.tunnel(port);
      tunnel.end(Buffer.alloc(300_000));
      expect(await text(tunnel)).toBe('300000 bytes');
      await expect(sandbox.tunnel(9)).rejects.toMatchObject({ code: 'tunnel_refused' });
      await expect(sandbox.tunnel(70_000)).rejects.toMatchObject({ code: 'invalid_input' });
      await sandbox.stop();
    });

    it('an open that is cancelled leaves nothing', async () => {
      const { runtime } = harness();
      const before = (await runtime.list()).length;
      await expect(runtime.open({}, { signal: AbortSignal.abort() })).rejects.toMatchObject({
        code: 'cancelled',
      });
      const stop = new AbortController();
      const opening = runtime.open({}, { signal: stop.signal });
      setTimeout(() => stop.abort(), 30);
      await opening.then(
        (sandbox) => sandbox.stop(),
        (error) => expect(error).toMatchObject({ code: 'cancelled' }),
      );
      await eventually(async () => (await runtime.list()).length === before, 'what was begun to go');
    });

    it('refuses an id that is taken or invalid', async () => {
      const { runtime } = harness();
      const sandbox = await harness().open({ id: 'taken' });
      await expect(runtime.open({ id: 'taken' })).rejects.toMatchObject({ code: 'invalid_input' });
      expect((await sandbox.exec({ argv: ['echo', 'still here'] })).stdout).toBe('still here\n');
      for (const id of ['', '../x', 'A B', 'x'.repeat(41), '-x']) {
        await expect(runtime.open({ id }), id).rejects.toMatchObject({ code: 'invalid_input' });
      }
      await sandbox.stop();
    });

    it('metrics count only this sandbox', async () => {
      const sandbox = await harness().open();
      const metrics = await sandbox.metrics();
      expect(metrics.guestRssBytes).toBeGreaterThan(100_000);
      expect(metrics.pids).toBeGreaterThanOrEqual(1);
      await sandbox.stop();
    });

    it('a tunnel reaches no port of the host, on isolating runtimes', async ({ skip }) => {
      skip(!harness().capabilities.isolation, 'this runtime has no walls');
      const server = createServer((socket) => socket.end('host'));
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      const sandbox = await harness().open();
      await expect(sandbox.tunnel(port)).rejects.toMatchObject({ code: 'tunnel_refused' });
      await sandbox.stop();
      server.close();
    });
  });
}

/** Processes of this machine, including those in sandboxes. */
function processesOf(isWanted: (words: readonly string[]) => boolean): readonly number[] {
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger);
  return pids.filter((pid) => {
    try {
      return isWanted(readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0'));
    } catch {
      return false;
    }
  });
}
