/** The targets of the attacks: a file, a process and ports of this machine, created only for them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { Attack } from './attempts.ts';

export interface Targets extends AsyncDisposable {
  /** Environment variables that an attempt runs with: they name the targets. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether an attempt that printed this got through. Forgets it, for the next one. */
  gotThrough(sign: Attack['sign'], printed: string): Promise<boolean>;
}

/** A victim that is killed must be seen as dead. */
const deathMs = 500;
const arrivalMs = 200;

/** Sockets of engines to try in addition to the configured one. */
const engineSockets = ['/var/run/docker.sock', '/run/podman/podman.sock'];

export async function openTargets(engine: string): Promise<Targets> {
  await using opened = new AsyncDisposableStack();
  const mark = randomBytes(8).toString('hex');
  const proof = `proof-${randomBytes(16).toString('hex')}`;
  const folder = await mkdtemp(join(tmpdir(), 'geode-attack-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  await chmod(folder, 0o755);
  await writeFile(join(folder, 'proof'), proof);
  await mkdir(join(folder, 'open'));
  await chmod(join(folder, 'open'), 0o777);

  let victim = startVictim(mark);
  opened.defer(() => endVictim(victim));
  const tcp = await listenTcp(opened);
  const udp = await listenUdp(opened);
  const all = opened.move();
  return {
    get env() {
      return {
        FOLDER: folder,
        PROOF: proof,
        MARK: mark,
        VICTIM: String(victim.pid),
        PORT: String(tcp.port),
        UDP_PORT: String(udp.port),
        ADDRESS: ownAddress(),
        ENGINE: [engine, ...engineSockets].find((path) => existsSync(path)) ?? '',
      };
    },
    async gotThrough(sign, printed) {
      if (sign === 'printed') return printed.includes(proof);
      if (sign === 'tcp' || sign === 'udp') {
        const port = sign === 'tcp' ? tcp : udp;
        // A datagram may still be on its way to this process.
        return port.taken() || afterWait(delay(arrivalMs)).then(() => port.taken());
      }
      if (sign === 'written') return wasWritten(join(folder, 'open', 'written'));
      const died = await hasDied(victim);
      if (died) victim = startVictim(mark);
      return died;
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

function startVictim(mark: string): ChildProcess {
  return spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)', `victim-${mark}`], { stdio: 'ignore' });
}

async function endVictim(victim: ChildProcess): Promise<void> {
  if (victim.exitCode !== null || victim.signalCode !== null) return;
  victim.kill('SIGKILL');
  await once(victim, 'exit');
}

async function hasDied(victim: ChildProcess): Promise<boolean> {
  if (victim.exitCode !== null || victim.signalCode !== null) return true;
  const late = AbortSignal.timeout(deathMs);
  await afterWait(once(victim, 'exit', { signal: late }).catch(() => {}));
  return victim.exitCode !== null || victim.signalCode !== null;
}

/** A timer of a process that was held up fires before the events that came in time are received. */
async function afterWait(waiting: Promise<unknown>): Promise<void> {
  await waiting;
  await nextTurn();
}

async function wasWritten(path: string): Promise<boolean> {
  const found = await stat(path).then(
    () => true,
    () => false,
  );
  await rm(path, { force: true });
  return found;
}

interface Port {
  readonly port: number;
  /** Whether something arrived since the last question. */
  taken(): boolean;
}

function taken(arrivals: unknown[]): boolean {
  return arrivals.splice(0).length > 0;
}

async function listenTcp(opened: AsyncDisposableStack): Promise<Port> {
  const arrivals: unknown[] = [];
  const server = createServer((socket) => {
    arrivals.push(socket.remoteAddress);
    socket.on('error', () => {});
    socket.end('HTTP/1.0 200 OK\r\ncontent-length: 5\r\n\r\nhere\n');
  });
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  opened.defer(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  return { port, taken: () => taken(arrivals) };
}

async function listenUdp(opened: AsyncDisposableStack): Promise<Port> {
  const arrivals: unknown[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (message) => arrivals.push(message));
  socket.bind(0, '0.0.0.0');
  await once(socket, 'listening');
  opened.defer(() => void socket.close());
  return { port: socket.address().port, taken: () => taken(arrivals) };
}

/** An address other than the loopback, if there is one. */
function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return all.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.1';
}
