/** Where no host is to be started, a command serves itself: the whole host in this process, for as long as it takes. */

import type { HostLockOptions } from '../machine/host-lock.ts';
import { openHost } from './open-host.ts';
import type { Alone, AloneOptions } from './runs-alone.ts';
import { serveOnSocket } from './serve.ts';

/** As the host of the sandboxes: `ledger_held`, with the other's pid, when another is for longer than the wait. */
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
