/** For commands that must not start a host: the whole host in this process, for the duration of the command. */

import type { HostLockOptions } from '../machine/host-lock.ts';
import { openHost } from './open-host.ts';
import type { Alone, AloneOptions } from './runs-alone.ts';
import { serveOnSocket } from './serve.ts';

/**
 * As the host of the sandboxes. Throws `ledger_held`, with the other's pid, if another host does not end within the
 * wait.
 */
export async function hostAlone({ loaded, ...around }: AloneOptions, lock: HostLockOptions): Promise<Alone> {
  const { state_dir: stateDir, run_dir: runDir } = loaded.config.sandbox;
  await using opened = new AsyncDisposableStack();
  const host = opened.use(
    await openHost({
      ...lock,
      loaded,
      ...around,
      tends: 'nothing',
      logLevel: 'silent',
    }),
  );
  const { path } = opened.use(await serveOnSocket(host.parts, { stateDir, runDir }));
  const all = opened.move();
  return { socket: path, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
