/** The programs of the egress section: one client, in a sandbox or on the host, one server, and a common proxy. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { ProcessEvent } from '../../src/seams/process.ts';
import type { Sandbox } from '../../src/seams/sandbox.ts';
import type { LeftOut } from '../measure.ts';

const program = (name: string) => fileURLToPath(new URL(name, import.meta.url));
/** No request takes that long; a longer wait prints the state of the request. */
const patienceMs = 90_000;

export interface Client extends AsyncDisposable {
  /** The answer to a line, see egress-client.py. Throws what the client said on stderr when it has ended. */
  ask<T>(line: string, answer: z.ZodType<T>): Promise<T>;
}

/** The client's target: host, port, proxy. */
export type Way = readonly [host: string, port: string, proxy: string];

export async function clientInside(
  sandbox: Sandbox,
  env: Readonly<Record<string, string>>,
  way: Way,
): Promise<Client> {
  await sandbox.files.write('client.py', await readFile(program('egress-client.py')));
  const process = await sandbox.spawn({
    argv: ['python3', 'client.py', ...way],
    env,
    interactive: true,
    timeoutMs: null,
  });
  return clientOf(linesOf(process), {
    write: (line) => process.write(line),
    end: () => process.kill(),
  });
}

export function clientOnHost(way: Way): Client {
  const child = spawn('python3', [program('egress-client.py'), ...way], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  return clientOf(createInterface({ input: child.stdout })[Symbol.asyncIterator](), {
    write: async (line) => void child.stdin.write(line),
    end: () => ended(child),
  });
}

function clientOf(
  lines: AsyncIterator<string>,
  { write, end }: { write(line: string): Promise<void>; end(): Promise<unknown> },
): Client {
  return {
    async ask(line, answer) {
      await write(`${line}\n`);
      const silence = new AbortController();
      const late = delay(patienceMs, undefined, { signal: silence.signal }).then(() => {
        throw new Error(`The client has not answered "${line}" within ${patienceMs / 1000} s`);
      });
      try {
        const { value, done } = await Promise.race([lines.next(), late]);
        if (done) throw new Error(`The client has ended instead of answering "${line}"`);
        return answer.parse(JSON.parse(value ?? 'null'));
      } finally {
        silence.abort();
        late.catch(() => {});
      }
    },
    async [Symbol.asyncDispose]() {
      await end().catch(() => {});
    },
  };
}

/** Of stdout. A client that ends says why on stderr, which would be lost otherwise. */
async function* linesOf(process: AsyncIterable<ProcessEvent>): AsyncGenerator<string> {
  let rest = '';
  let complaint = '';
  for await (const event of process) {
    if (event.type === 'stderr') complaint += Buffer.from(event.bytes).toString();
    if (event.type === 'exit') throw new Error(`The client ended: ${JSON.stringify(event)} ${complaint}`);
    if (event.type !== 'stdout') continue;
    const lines = (rest + Buffer.from(event.bytes).toString()).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}

export interface Ports extends AsyncDisposable {
  readonly bytes: number;
  readonly model: number;
}

export async function startServer(): Promise<Ports> {
  const child = spawn(process.execPath, [program('egress-server.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const { value } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
  const { bytes, model } = z
    .object({ bytes: z.number(), model: z.number() })
    .parse(JSON.parse(value ?? 'null'));
  return { bytes, model, [Symbol.asyncDispose]: () => ended(child) };
}

export interface CommonProxy extends AsyncDisposable {
  readonly address: string;
}

/** tinyproxy with only a port set, or the reason why it is missing. */
export async function startTinyproxy(): Promise<CommonProxy | LeftOut> {
  const folder = await mkdtemp(join(tmpdir(), 'geode-tinyproxy-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  const port = await freePort();
  const settings = join(folder, 'tinyproxy.conf');
  await writeFile(
    settings,
    `Port ${port}\nListen 127.0.0.1\nMaxClients 4000\nTimeout 600\nLogLevel Critical\n`,
  );
  const child = spawn('tinyproxy', ['-d', '-c', settings], { stdio: 'ignore' });
  const started = await Promise.race([
    once(child, 'error').then(() => false),
    once(child, 'exit').then(() => false),
    listens(port),
  ]);
  if (!started) {
    await remove();
    return { name: 'tinyproxy', reason: 'it is not installed (apt-get install tinyproxy-bin)' };
  }
  return {
    address: `127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      const over = once(child, 'exit');
      child.kill();
      await over;
      await remove();
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

/** False when nothing does within ten seconds. */
async function listens(port: number): Promise<boolean> {
  for (let tries = 0; tries < 200; tries += 1) {
    const socket = connect(port, '127.0.0.1');
    const isThere = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isThere) return true;
    await delay(50);
  }
  return false;
}

async function ended(child: ChildProcessByStdio<Writable, Readable, null>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const over = once(child, 'exit');
  child.stdin.end();
  await over;
}
