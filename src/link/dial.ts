import { chmod, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { onAbort } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';

/**
 * Where connections to a guest come from. A dialer offers new connections until it is closed; the handshake decides
 * which one is accepted.
 */
export interface Dialer {
  start(offer: Offer): Promise<void>;
  close(): Promise<void>;
}

/** Resolves when the connection has proven to be the guest's, or was refused. */
type Offer = (connection: Duplex) => Promise<void>;

/** Maximum unproven connections at once. Anything in the sandbox can connect, so each must be cheap. */
const mostUnproven = 16;
/** More than enough time for the copy of a killed host to exit. */
const copyLivesMs = 3_000;
/** The kernel's limit for the path of a Unix socket. */
const longestSocketPath = 107;

/** The host listens and the guest connects, so the host never follows a path that the sandbox made. */
export function socketDialer(path: string): Dialer {
  checkSocketPath(path);
  const open = new Set<Duplex>();
  const unproven = new Set<Duplex>();
  const server = createServer();
  return {
    async start(offer) {
      server.on('connection', (connection) => {
        // Drop the oldest: a silent connection must not keep the guest out.
        const [oldest] = unproven;
        if (unproven.size >= mostUnproven) oldest?.destroy();
        open.add(connection);
        unproven.add(connection);
        connection.once('close', () => {
          open.delete(connection);
          unproven.delete(connection);
        });
        void offer(connection).finally(() => unproven.delete(connection));
      });
      if (await isHeld(path)) {
        throw new GeodeError('sandbox_held', 'Another host holds this sandbox.');
      }
      // A killed host leaves its socket file; the folder belongs to Geode alone, so it may be removed.
      await rm(path, { force: true });
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(path, resolve);
      });
      // The parent folder is closed to other users of the host; this one must admit the guest's user.
      await chmod(path, 0o666);
    },
    async close() {
      for (const connection of open) connection.destroy();
      if (!server.listening) return;
      // Unlinked at once: a later host may have created its own file there before closing is complete.
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function checkSocketPath(path: string): void {
  if (Buffer.byteLength(path) <= longestSocketPath) return;
  throw new GeodeError(
    'invalid_config',
    `The socket path ${path} is longer than ${longestSocketPath} bytes.`,
    { hint: 'Set `sandbox.run_dir` to a shorter folder.' },
  );
}

/**
 * A host that was killed while it started a process leaves a copy of itself, with all its sockets, until that copy
 * has executed the other program: on a busy machine this takes a moment.
 */
async function isHeld(path: string): Promise<boolean> {
  for (const until = Date.now() + copyLivesMs; await isListening(path); await delay(firstPauseMs)) {
    if (Date.now() > until) return true;
  }
  return false;
}

/** A socket answers only while its process lives. */
function isListening(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const trial = connect(path);
    trial.once('connect', () => resolve(true)).once('error', () => resolve(false));
    trial.once('connect', () => trial.destroy());
  });
}

const firstPauseMs = 25;
const longestPauseMs = 1_000;

/** The host reaches the guest through a program's stdin and stdout: `exec -i … guest bridge`. */
export function bridgeDialer(connect: (signal: AbortSignal) => Promise<Duplex>): Dialer {
  const stop = new AbortController();
  let running: Promise<void> = Promise.resolve();
  return {
    async start(offer) {
      running = keepDialing(connect, offer, stop.signal);
    },
    async close() {
      stop.abort();
      await running;
    },
  };
}

async function keepDialing(
  connect: (signal: AbortSignal) => Promise<Duplex>,
  offer: Offer,
  signal: AbortSignal,
): Promise<void> {
  let pauseMs = firstPauseMs;
  while (!signal.aborted) {
    try {
      const connection = await connect(signal);
      using _watching = onAbort(signal, () => connection.destroy());
      const closed = new Promise((resolve) => connection.once('close', resolve));
      const since = performance.now();
      void offer(connection);
      await closed;
      if (performance.now() - since > longestPauseMs) pauseMs = firstPauseMs;
    } catch {
      // The link asks the runtime whether the sandbox is gone or only slow.
    }
    await delay(pauseMs, undefined, { signal }).catch(() => {});
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  }
}
