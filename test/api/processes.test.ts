import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import type { GeodeClient } from '../../src/client/client.ts';
import type { RemoteSandbox } from '../../src/client/sandbox.ts';
import type { Process, ProcessEvent } from '../../src/seams/process.ts';
import { startTestHost, type TestHost } from './host-fixture.ts';
import { type Caller, collect } from './server-fixture.ts';

let host: TestHost;
let client: GeodeClient;
let sandbox: RemoteSandbox;
let call: Caller;

beforeAll(async () => {
  host = await startTestHost();
  client = host.server.client('alice');
  call = host.server.caller('alice');
  await client.sandboxes.getOrCreate('work');
  sandbox = client.sandboxes.of('work');
}, 180_000);
afterAll(() => host?.[Symbol.asyncDispose](), 180_000);

const deadline = { timeout: 180_000 };
const shell = (script: string) => ['/bin/sh', '-c', script] as const;
const path = '/api/v1/sandboxes/work';

const textOf = (events: readonly ProcessEvent[], type: 'stdout' | 'stderr' = 'stdout') =>
  Buffer.concat(events.flatMap((event) => (event.type === type ? [event.bytes] : []))).toString();

const exited = async (id: string) =>
  expect
    .poll(
      async () =>
        (await sandbox.processes()).processes.find((process) => process.id === id)?.state ?? 'exited',
      { timeout: 60_000 },
    )
    .toBe('exited');

describe('processes over HTTP', () => {
  test('API-1: runs a command and answers with its output and exit', deadline, async () => {
    const result = await sandbox.exec({
      argv: shell('cat; printf "\\377" >&2; echo $NAME; exit 3'),
      stdin: 'typed\n',
      env: { NAME: 'x_y' },
    });
    expect(result).toMatchObject({ exitCode: 3, stdout: 'typed\nx_y\n', timedOut: false });
    expect([...result.bytes.stderr]).toEqual([0xff]);
    const late = await sandbox.exec({ argv: ['sleep', '60'], timeoutMs: 200 });
    expect(late.timedOut).toBe(true);
    const short = await sandbox.exec({ argv: shell('yes | head -c 5000') }, { outputLimitBytes: 10 });
    expect(short).toMatchObject({ truncated: true, dropped: { stdout: 4990 } });
    await expect(sandbox.exec({ argv: ['/no/such/program'] })).rejects.toMatchObject({
      code: 'spawn_failed',
      status: 422,
    });
  });

  test('refuses an invalid command', async () => {
    for (const json of [
      {},
      { argv: [] },
      { argv: 'ls' },
      { argv: ['ls'], colour: 1 },
      { argv: ['a\0b'] },
      7,
    ]) {
      const { status, body } = await call(`${path}/exec`, { json });
      expect(status, JSON.stringify(json)).toBe(400);
      expect(body).toMatchObject({ code: expect.any(String), hint: expect.any(String) });
    }
  });

  test('a disconnect of the caller ends its command and all child processes', deadline, async () => {
    const abort = new AbortController();
    const running = sandbox.exec(
      { argv: shell('sleep 600 & sleep 600'), timeoutMs: null },
      { signal: abort.signal },
    );
    const sleeping = async () => (await sandbox.exec({ argv: ['pgrep', '-c', 'sleep'] })).stdout.trim();
    await expect.poll(sleeping, { timeout: 60_000 }).toBe('2');
    abort.abort();
    await expect(running).rejects.toMatchObject({ code: 'cancelled' });
    await expect.poll(sleeping, { timeout: 60_000 }).toBe('0');
  });

  test('a process is started, written to, read from any offset, signalled and listed', deadline, async () => {
    const process = await sandbox.spawn({ argv: ['cat'], interactive: true, timeoutMs: null });
    await process.write('hello\n');
    await process.write('again\n');
    await process.closeStdin();
    expect(textOf(await collect(process))).toBe('hello\nagain\n');
    expect(textOf(await collect(process.output({ from: 6 })))).toBe('again\n');
    await expect(process.write('late')).rejects.toMatchObject({ code: 'process_not_found' });

    const sleeper = await sandbox.spawn({ argv: ['sleep', '600'], timeoutMs: null });
    const { processes } = await sandbox.processes();
    expect(processes.find(({ id }) => id === sleeper.id)).toMatchObject({
      state: 'running',
      pid: sleeper.pid,
    });
    await sleeper.signal('SIGTERM');
    expect((await collect(sleeper)).at(-1)).toMatchObject({
      type: 'exit',
      signal: 'SIGTERM',
      exitCode: null,
    });
  });

  test('a stream sends its position, and resumes from there', deadline, async () => {
    const process = await sandbox.spawn({ argv: shell('printf one; sleep 0.2; printf two; printf "\\303"') });
    await exited(process.id);
    const output = `${path}/processes/${process.id}/output`;
    const whole = await call(output);
    expect(whole.headers.get('content-type')).toContain('text/event-stream');
    const [first = ''] = whole.text.split('\n\n');
    const [, id] = /^id: (\d+)$/m.exec(first) ?? [];
    const rest = await call(output, { headers: { 'last-event-id': String(id) } });
    expect(`${first}\n\n${rest.text}`).toBe(whole.text);
    expect(rest.text).toContain('event: exit');
    expect(textOf(await collect(process)).startsWith('onetwo')).toBe(true);
    expect((await call(`${path}/processes/${process.id}/output?from=-1`)).status).toBe(400);
    const strange = await call(`${path}/processes/${process.id}/output`, {
      headers: { 'last-event-id': 'x' },
    });
    expect(strange.status).toBe(400);
    expect((await call(`${path}/processes/nobody/output`)).body).toMatchObject({ code: 'process_not_found' });
  });

  test('a reader that leaves in the middle of a stream leaves nothing behind', deadline, async () => {
    const process = await sandbox.spawn({ argv: shell('echo ready; sleep 600'), timeoutMs: null });
    for await (const event of process) if (event.type === 'stdout') break;
    const abort = new AbortController();
    const waiting = collect(process.output({ from: 6, signal: abort.signal }));
    const refused = expect(waiting).rejects.toMatchObject({ code: 'cancelled' });
    abort.abort();
    await refused;
    expect((await sandbox.processes()).processes.find(({ id }) => id === process.id)?.state).toBe('running');
    await process.kill();
    await exited(process.id);
  });
});

describe('processes over a WebSocket', () => {
  test('a command runs with its input and output in one connection', deadline, async () => {
    const process = await sandbox.run({ argv: shell('cat; echo err >&2; exit 4'), interactive: true });
    await process.write('typed\n');
    await process.closeStdin();
    const events = await collect(process);
    expect(textOf(events)).toBe('typed\n');
    expect(textOf(events, 'stderr')).toBe('err\n');
    expect(events.at(-1)).toMatchObject({ type: 'exit', exitCode: 4 });
  });

  test('passes large input and output, and loses nothing for a slow reader', deadline, async () => {
    const process = await sandbox.run({ argv: shell('wc -c; seq 1 300000'), interactive: true });
    const block = new Uint8Array(1024 ** 2).fill(120);
    for (let i = 0; i < 8; i += 1) await process.write(block);
    await process.closeStdin();
    const expected = `${8 * 1024 ** 2}\n${Array.from({ length: 300_000 }, (_, i) => `${i + 1}\n`).join('')}`;
    expect(textOf(await collect(process)) === expected).toBe(true);
  });

  test('a closed connection ends or keeps its command, as requested', deadline, async () => {
    const started = async (process: Process) => {
      for await (const event of process) if (event.type === 'stdout') return;
    };
    const killed = await sandbox.run({ argv: shell('echo up; sleep 600'), timeoutMs: null });
    await started(killed);
    await exited(killed.id);
    const left = await sandbox.run(
      { argv: shell('echo up; sleep 600'), timeoutMs: null },
      { onDisconnect: 'leave' },
    );
    await started(left);
    const other = await sandbox.attach(left.id);
    expect((await sandbox.processes()).processes.find(({ id }) => id === left.id)?.state).toBe('running');
    await other.kill();
    await exited(left.id);
  });

  test('joins a terminal with its screen, resizes it and leaves it', deadline, async () => {
    const pty = { columns: 80, rows: 24 };
    const shellProcess = await sandbox.spawn({ argv: ['/bin/sh'], pty, timeoutMs: null, env: { PS1: '> ' } });
    const first = await sandbox.join(shellProcess.id, { size: { columns: 100, rows: 30 } });
    await first.write('stty size; echo mar""ker\n');
    let seen = '';
    for await (const event of first) {
      if (event.type === 'stdout') seen += Buffer.from(event.bytes).toString();
      if (seen.includes('marker')) break;
    }
    expect(seen).toContain('30 100');
    const second = await sandbox.join(shellProcess.id, { size: { columns: 60, rows: 20 } });
    expect(second.screen?.size).toEqual({ columns: 60, rows: 20 });
    expect(Buffer.from(second.screen?.content ?? []).toString()).toContain('marker');
    await second.write('exit 7\n');
    expect((await collect(second)).at(-1)).toMatchObject({ type: 'exit', exitCode: 7 });
  });

  test('an upgrade request has the same checks as other requests', deadline, async () => {
    const { url, key } = host.server;
    const address = `${url.replace('http', 'ws')}${path}/exec`;
    const attempt = (headers: Record<string, string>) =>
      new Promise<number>((resolve) => {
        const socket = new WebSocket(address, ['geode.v1'], { headers });
        socket.on('unexpected-response', (_, response) => resolve(response.statusCode ?? 0));
        socket.on('open', () => {
          socket.close();
          resolve(101);
        });
        socket.on('error', () => {});
      });
    const good = { authorization: `Bearer ${key('alice')}` };
    expect(await attempt(good)).toBe(101);
    expect(await attempt({})).toBe(401);
    expect(await attempt({ ...good, origin: 'http://evil.example' })).toBe(403);
    expect(await attempt({ ...good, host: 'evil.example' })).toBe(403);
    expect(await attempt({ authorization: `Bearer ${key('alice', ['sandboxes:read'])}` })).toBe(403);
    expect((await call(`${path}/exec`)).body).toMatchObject({ code: 'upgrade_required' });
    const missing = `${address.replace('/work/', '/nobody/').replace('/exec', '/processes/none/socket')}`;
    const refused = new WebSocket(missing, ['geode.v1'], { headers: good });
    const { promise, resolve } = Promise.withResolvers<number>();
    refused.on('unexpected-response', (_, response) => resolve(response.statusCode ?? 0));
    refused.on('error', () => {});
    expect(await promise).toBe(404);
  });

  test('closes the connection with the reason after an invalid message', deadline, async () => {
    const { url, key } = host.server;
    for (const sent of ['{', '{"type":"exec","argv":[]}', Buffer.of(1, 2)]) {
      const socket = new WebSocket(`${url.replace('http', 'ws')}${path}/exec`, ['geode.v1'], {
        headers: { authorization: `Bearer ${key('alice')}` },
      });
      const { promise, resolve } = Promise.withResolvers<string>();
      socket.on('open', () => socket.send(sent));
      socket.on('message', (data) => resolve(String(data)));
      expect(JSON.parse(await promise)).toMatchObject({ type: 'problem', code: 'invalid_input' });
    }
  });
});
