/** Where no host is to be started, a command serves itself: the API in this process, for as long as it takes. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { ApiParts } from '../../api/environment.ts';
import { openLiveContexts } from '../../api/live-contexts.ts';
import { createLog } from '../../api/log.ts';
import { createApp, openConfiguredMemory } from '../../app.ts';
import { noEvents } from '../../core/events.ts';
import { hostMemory } from '../../host/host-memory.ts';
import { openHost, reapMeanwhile } from '../../host/open-host.ts';
import { serveOnSocket } from '../../host/serve.ts';
import type { HostLockOptions } from '../../ledger/host-lock.ts';
import type { CliContext } from '../command.ts';
import { version } from '../version.ts';

type Serving = Pick<CliContext, 'loaded' | 'host' | 'signal' | 'err'>;

interface Alone extends AsyncDisposable {
  readonly socket: string;
}

/** As the host of the sandboxes: `ledger_held`, with the other's pid, when another is for longer than the wait. */
export async function hostAlone(context: Serving, lock: HostLockOptions): Promise<Alone> {
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

/** For code that runs once: any number of such commands may run at the same time. */
export async function runAlone(context: Serving): Promise<Alone> {
  const { config } = await context.loaded();
  const { state_dir: stateDir, run_dir: runDir } = config.sandbox;
  const app = createApp(config, context.host, (message) => context.err(`warning: ${message}`));
  await using opened = new AsyncDisposableStack();
  const runs = opened.use(app.runs({ pool: 'off' }));
  reapMeanwhile(opened, runs);
  const open: NonNullable<ApiParts['open']> = (spec, { runtime, onPull, signal }) =>
    app.open(spec, {
      ...(runtime && { runtime }),
      ...(onPull && { onPull }),
      ...(signal && { signal }),
    });
  const memory = opened.use(hostMemory('sqlite', () => openConfiguredMemory(config), noEvents));
  const contexts = opened.use(openLiveContexts({ open, imageFor: app.imageFor }));
  const parts = {
    version,
    log: createLog('silent'),
    memory,
    keys: 'off',
    runs,
    open,
    contexts,
    egress: app.egress,
  } as const;
  const path = join(runDir, '.host', `alone-${process.pid}-${randomBytes(4).toString('hex')}`);
  const server = opened.use(await serveOnSocket(parts, { stateDir, runDir }, { path }));
  const all = opened.move();
  return { socket: server.path, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
