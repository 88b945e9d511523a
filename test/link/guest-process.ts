import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { programPath } from '../../scripts/build-guest.ts';
import { type Dialer, socketDialer } from '../../src/link/dial.ts';
import { newSecret } from '../../src/link/handshake.ts';
import { Link, type LinkOptions } from '../../src/link/link.ts';

/** A real guest beside the test, with its connections in the test's hands. */
export interface GuestProcess extends AsyncDisposable {
  readonly folder: string;
  readonly socket: string;
  readonly connections: Duplex[];
  /** A new one each time: a dialer starts once. */
  options(changes?: Partial<LinkOptions>): LinkOptions;
  readonly child: ChildProcess;
  open(): Promise<Link>;
}

export async function startGuest(): Promise<GuestProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'geode-link-'));
  const socket = join(folder, 's');
  const child = spawn(programPath('guest'), ['init', '--dial', socket, '--lease', '30000'], {
    stdio: 'ignore',
    env: { PATH: '/usr/bin:/bin' },
  });
  const connections: Duplex[] = [];
  const claim = { secret: newSecret(), env: { PATH: '/usr/bin:/bin' }, workdir: folder, leaseMs: 30_000 };
  const liveness = async () =>
    child.exitCode === null && child.signalCode === null
      ? ({ alive: true } as const)
      : ({ alive: false, reason: 'the guest ended' } as const);
  const options = (changes: Partial<LinkOptions> = {}): LinkOptions => ({
    dialer: recording(socketDialer(socket), connections),
    claim,
    liveness,
    fresh: true,
    ...changes,
  });
  const links: Link[] = [];
  return {
    folder,
    socket,
    connections,
    options,
    child,
    async open() {
      const link = await Link.open(options(), { deadlineMs: 60_000 });
      links.push(link);
      return link;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(links.map((link) => link.close()));
      const ended = new Promise((resolve) => child.once('exit', resolve));
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGTERM');
        await ended;
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function recording(dialer: Dialer, connections: Duplex[]): Dialer {
  return {
    start: (offer) =>
      dialer.start((connection) => {
        connections.push(connection);
        return offer(connection);
      }),
    close: () => dialer.close(),
  };
}
