import { lstat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { reasonOf } from '../../core/errors.ts';
import { hostSocketIn } from '../../host/host-socket.ts';
import { type OpenHost, openHost } from '../../host/open-host.ts';
import { serveOnSocket } from '../../host/serve.ts';
import { announceHost, type HostLockOptions, namedHost } from '../../ledger/host-lock.ts';
import type { CliContext } from '../command.ts';
import { version } from '../version.ts';
import { asking } from './asking.ts';
import { CommandServer } from './command-server.ts';
import { marksOf } from './request.ts';

const lookEveryMs = 500;

export interface CommandHostOptions extends HostLockOptions {
  /** What a person started: `geode host`. */
  readonly as: 'geode host' | 'geode gateway';
  readonly tends: 'idle' | 'all';
  /** After that long without a caller it has nothing to do any more; `null`: it is there for good. */
  readonly lingerMs: number | null;
  readonly logLevel?: string;
  /** What is not about a command; the log by default. */
  readonly warn?: (message: string) => void;
}

/** A host that serves the API on its socket and runs the commands of others. Letting go of it ends nothing in the sandboxes. */
export interface CommandHost extends AsyncDisposable {
  readonly socket: string;
  readonly host: OpenHost;
  /** Until it has nothing to do, cannot be found any more, or the signal fires. */
  over(signal: AbortSignal): Promise<void>;
}

export async function openCommandHost(
  context: Pick<CliContext, 'loaded' | 'host' | 'commands'>,
  { as, lingerMs, warn, ...options }: CommandHostOptions,
): Promise<CommandHost> {
  const loaded = await context.loaded();
  const { state_dir: stateDir, run_dir: runDir } = loaded.config.sandbox;
  const places = { stateDir, runDir };
  const socket = hostSocketIn(places);
  const asked = () => {
    const command = asking.getStore();
    return command?.isOver ? undefined : command;
  };
  await using opened = new AsyncDisposableStack();
  const host = opened.use(
    await openHost({
      ...options,
      channels: as === 'geode gateway' ? 'all' : 'web',
      loaded,
      machine: context.host,
      version,
      warn: (message) => {
        const tell = asked()?.warn ?? warn ?? ((line: string) => host.log.warn(line));
        tell(message);
      },
      onPull: (event) => asked()?.pull?.show(event),
    }),
  );
  const { app, sandboxes, solves } = host;
  const { host: machine, commands } = context;
  const server = opened.use(
    new CommandServer({ host: machine, commands, loaded, app, sandboxes, solves, yields: lingerMs !== null }),
  );
  await server.listen(socket);
  const leave = () => {
    if (lingerMs !== null) server.leave();
    return server.isLeaving;
  };
  const api = opened.use(await serveOnSocket({ ...host.parts, leave }, places));
  announceHost(stateDir, { socket, as, api: api.path, settings: marksOf(loaded.config) });
  const { ino } = await lstat(socket);
  const isFound = async () =>
    namedHost(stateDir)?.pid === process.pid && (await lstat(socket).catch(() => undefined))?.ino === ino;
  const idleMs = () => Math.min(server.idleMs, api.idleMs);
  const all = opened.move();
  return {
    socket,
    host,
    async over(signal) {
      while (!signal.aborted && !server.hasLeft && (await isFound())) {
        if (lingerMs !== null && idleMs() >= lingerMs) {
          // A last look at what is idle; it takes its time, and who comes meanwhile is welcome.
          await sandboxes
            .sweep({ signal })
            .catch((error) => host.log.warn(`The sweep failed: ${reasonOf(error)}`));
          if (idleMs() >= lingerMs) server.leave();
        } else await delay(lookEveryMs, undefined, { signal }).catch(() => {});
      }
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
