import { lstat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { createApp } from '../../app.ts';
import { reasonOf } from '../../core/errors.ts';
import { announceHost, type HostLockOptions, namedHost } from '../../ledger/host-lock.ts';
import type { CliContext } from '../command.ts';
import { asking } from './asking.ts';
import { CommandServer } from './command-server.ts';
import { hostSocketIn } from './host-socket.ts';

const lookEveryMs = 500;

export interface OpenHostOptions extends HostLockOptions {
  /** What a person started: `geode host`. */
  readonly as: string;
  readonly tends: 'idle' | 'all';
  /** After that long without a command it has nothing to do any more; `null`: it is there for good. */
  readonly lingerMs: number | null;
  /** What is not about a command. */
  readonly warn: (message: string) => void;
}

/** The host of the sandboxes, which runs the commands of others. Letting go of it ends nothing in the sandboxes. */
export interface OpenHost extends AsyncDisposable {
  readonly socket: string;
  /** Until it has nothing to do, cannot be found any more, or the signal fires. */
  over(signal: AbortSignal): Promise<void>;
}

export async function openHost(
  context: Pick<CliContext, 'loaded' | 'host' | 'commands'>,
  { as, tends, lingerMs, warn, ...lock }: OpenHostOptions,
): Promise<OpenHost> {
  const loaded = await context.loaded();
  const { state_dir: stateDir, run_dir: runDir } = loaded.config.sandbox;
  const socket = hostSocketIn({ stateDir, runDir });
  const asked = () => {
    const command = asking.getStore();
    return command?.isOver ? undefined : command;
  };
  const tell = (message: string) => (asked()?.warn ?? warn)(message);
  const app = createApp(loaded.config, context.host, tell);
  await using opened = new AsyncDisposableStack();
  const sandboxes = opened.use(
    await app.sandboxes({ tends, onPull: (event) => asked()?.pull?.show(event), ...lock }),
  );
  const { host, commands } = context;
  const server = opened.use(
    new CommandServer({ host, commands, loaded, app, sandboxes, yields: lingerMs !== null }),
  );
  await server.listen(socket);
  announceHost(stateDir, { socket, as });
  const { ino } = await lstat(socket);
  const isFound = async () =>
    namedHost(stateDir)?.pid === process.pid && (await lstat(socket).catch(() => undefined))?.ino === ino;
  const all = opened.move();
  return {
    socket,
    async over(signal) {
      while (!signal.aborted && !server.hasLeft && (await isFound())) {
        if (lingerMs !== null && server.idleMs >= lingerMs) {
          // A last look at what is idle; it takes its time, and who comes meanwhile is welcome.
          await sandboxes.sweep({ signal }).catch((error) => warn(`The sweep failed: ${reasonOf(error)}`));
          if (server.idleMs >= lingerMs) server.leave();
        } else await delay(lookEveryMs, undefined, { signal }).catch(() => {});
      }
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
