import { lstat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { isGeodeError, reasonOf } from '../base/errors.ts';
import { askToLeave } from '../client/host-client.ts';
import { marksOf } from '../config/marks.ts';
import type { Config } from '../config/schema.ts';
import { announceHost, currentHost } from '../machine/host-lock.ts';
import { namedHost } from '../machine/named-host.ts';
import { type OpenHost, type OpenHostOptions, openHost } from './open-host.ts';
import { rotateStderr } from './rotate-stderr.ts';
import { serveOnSocket } from './serve.ts';

const lookEveryMs = 500;
const askEveryMs = 250;

export interface ServingHostOptions extends OpenHostOptions {
  /** The command that started it. */
  readonly as: 'geode host' | 'geode gateway';
  /** Which version of the program it is: a different one asks this host to end. */
  readonly program: string;
  /** The host exits after this time without a caller; `null`: never. */
  readonly lingerMs: number | null;
}

/** A host that serves the API on its socket, where commands find it. Closing it ends nothing in the sandboxes. */
export interface ServingHost extends AsyncDisposable {
  readonly socket: string;
  readonly host: OpenHost;
  /** Resolves when it is idle, cannot be found any more, or the signal fires. */
  over(signal: AbortSignal): Promise<void>;
}

/** Throws `ledger_held`, with the other's pid, while another process is the host of the same folder. */
export async function openServingHost({
  as,
  program,
  lingerMs,
  ...options
}: ServingHostOptions): Promise<ServingHost> {
  const { config } = options.loaded;
  const { state_dir: stateDir, run_dir: runDir } = config.sandbox;
  await using opened = new AsyncDisposableStack();
  const host = opened.use(await openHost({ channels: as === 'geode gateway' ? 'all' : 'web', ...options }));
  opened.use(rotateStderr(config.gateway.log_size, host.log));
  const api = opened.use(
    await serveOnSocket(host.parts, { stateDir, runDir }, { yields: lingerMs !== null }),
  );
  const announce = (now: Config) =>
    announceHost(stateDir, { as, api: api.path, program, settings: marksOf(now) });
  announce(config);
  // Commands look for a host with the settings of the file.
  host.providers.onChange = announce;
  const { ino } = await lstat(api.path);
  const isFound = async () =>
    namedHost(stateDir)?.pid === process.pid && (await lstat(api.path).catch(() => undefined))?.ino === ino;
  const all = opened.move();
  return {
    socket: api.path,
    host,
    async over(signal) {
      while (!signal.aborted && !api.isLeaving && (await isFound())) {
        if (lingerMs !== null && api.idleMs >= lingerMs) {
          // Sweep idle sandboxes once more; this takes a while, and new callers are still accepted.
          await host.sandboxes
            .sweep({ signal })
            .catch((error) => host.log.warn(`The sweep failed: ${reasonOf(error)}`));
          if (api.idleMs >= lingerMs) api.leave();
        } else await delay(lookEveryMs, undefined, { signal }).catch(() => {});
      }
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/**
 * Becomes the host in place of one that a command started in the background, which ends as soon as it has no request.
 * Any other host is not asked: throws `ledger_held`.
 */
export async function openInPlaceOf(
  options: ServingHostOptions,
  onWait: (pid: number) => void,
): Promise<ServingHost> {
  const stateDir = options.loaded.config.sandbox.state_dir;
  let announced = false;
  for (;;) {
    try {
      return await openServingHost(options);
    } catch (error) {
      if (!isGeodeError(error, 'ledger_held') || options.takeOver) throw error;
      const other = currentHost(stateDir);
      if (other !== undefined && other.serves?.as !== 'geode host') throw error;
      const leaves = other?.serves === undefined || (await askToLeave(other.serves.api));
      if (!leaves && !announced && other !== undefined) {
        onWait(other.pid);
        announced = true;
      }
      await delay(askEveryMs, undefined, { signal: options.signal });
    }
  }
}
