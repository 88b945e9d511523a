/** Where no host is to be started, a command serves itself: the whole host in this process, for as long as it takes. */
import { openHost } from '../../host/open-host.ts';
import { serveOnSocket } from '../../host/serve.ts';
import type { HostLockOptions } from '../../ledger/host-lock.ts';
import { version } from '../version.ts';
import type { Alone, ServingItself } from './run-alone.ts';

/** As the host of the sandboxes: `ledger_held`, with the other's pid, when another is for longer than the wait. */
export async function hostAlone(context: ServingItself, lock: HostLockOptions): Promise<Alone> {
  const { host: machine, err } = context;
  const loaded = await context.loaded();
  const { state_dir: stateDir, run_dir: runDir } = loaded.config.sandbox;
  await using opened = new AsyncDisposableStack();
  const host = opened.use(
    await openHost({
      ...lock,
      loaded,
      machine,
      version,
      tends: 'nothing',
      logLevel: 'silent',
      warn: (message) => err(`warning: ${message}`),
    }),
  );
  const { path } = opened.use(await serveOnSocket(host.parts, { stateDir, runDir }));
  const all = opened.move();
  return { socket: path, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
