/** Reaches the host of the sandboxes for a program that outlives it: looked for at each request, started if need be. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Transport } from '../../client/transport.ts';
import { unixTransport } from '../../client/unix-transport.ts';
import { throwIfCancelled } from '../../core/cancel.ts';
import { GeodeError } from '../../core/errors.ts';
import { isOwnSocket } from '../../host/host-socket.ts';
import { makeStateFolder, namedHost, tryLock } from '../../ledger/host-lock.ts';
import type { CliContext } from '../command.ts';
import { startHost } from './start-host.ts';

const pauseMs = 50;
const reachMs = 60_000;
const startWaitMs = 5_000;

/** For requests whose body is text or bytes: one that no host took is sent again. */
export function hostTransport(context: CliContext): Transport {
  return {
    name: 'the host of the sandboxes',
    async fetch(path, init) {
      const signal = init.signal ?? undefined;
      const until = performance.now() + reachMs;
      for (;;) {
        throwIfCancelled(signal, 'Reaching the host');
        const socket = await apiSocket(context);
        const answer =
          socket === undefined
            ? undefined
            : await unlessEnding(() => unixTransport(socket).fetch(path, init));
        if (answer !== undefined) return answer;
        if (performance.now() > until) {
          throw new GeodeError('ledger_held', 'The host of the sandboxes does not answer.', {
            hint: 'geode host stop ends it; the next call starts another.',
          });
        }
        if (socket === undefined) await startOne(context);
        else await delay(pauseMs, undefined, { signal });
      }
    },
    connect() {
      throw new GeodeError('internal', 'WebSockets are for commands that run in the host');
    },
  };
}

async function apiSocket({ loaded }: CliContext): Promise<string | undefined> {
  const { config } = await loaded();
  const path = namedHost(config.sandbox.state_dir)?.serves?.api;
  return path !== undefined && (await isOwnSocket(path)) ? path : undefined;
}

/** Undefined when nobody listens any more, or the host is about to end: nothing was done. */
async function unlessEnding(ask: () => Promise<Response>): Promise<Response | undefined> {
  try {
    const answer = await ask();
    if (answer.status !== 503) return answer;
    const said: unknown = await answer.clone().json();
    return typeof said === 'object' && said !== null && 'code' in said && said.code === 'stopping'
      ? undefined
      : answer;
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
    if (code === 'ECONNREFUSED' || code === 'ENOENT') return undefined;
    throw thrown;
  }
}

/** Of many programs that find no host, one starts it. */
async function startOne(context: CliContext): Promise<void> {
  const { config } = await context.loaded();
  const { state_dir: stateDir, linger } = config.sandbox;
  if (linger === 0) {
    throw new GeodeError(
      'runtime_unavailable',
      'There is no host, and sandbox.linger is 0: none is started.',
      {
        hint: 'Start geode gateway or geode host, or set sandbox.linger.',
      },
    );
  }
  makeStateFolder(stateDir);
  using turn = tryLock(join(stateDir, 'start.lock'));
  if (turn === undefined) await delay(pauseMs);
  else if ((await apiSocket(context)) === undefined)
    await startHost(context, { waitMs: startWaitMs, takeOver: false, signal: context.signal });
}
