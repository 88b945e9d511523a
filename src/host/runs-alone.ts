/** Runs code once without a host: the API in this process, with only the parts that runs need. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { ApiParts } from '../api/environment.ts';
import { createLog } from '../api/log.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { Machine } from '../machine/machine.ts';
import { openLiveContexts } from '../runs/contexts/live-contexts.ts';
import { noEvents } from '../seams/events.ts';
import { openConfiguredMemory } from './configured-memory.ts';
import { createGeode } from './geode.ts';
import { hostMemory } from './host-memory.ts';
import { reapInBackground } from './reap-in-background.ts';
import { serveOnSocket } from './serve.ts';
import { checkState } from './state/tables.ts';

export interface AloneOptions {
  readonly loaded: LoadedConfig;
  readonly machine: Machine;
  readonly version: string;
  readonly warn: (message: string) => void;
}

export interface Alone extends AsyncDisposable {
  readonly socket: string;
}

/** For code that runs once: any number of these commands may run at the same time. */
export async function runsAlone({ loaded, machine, version, warn }: AloneOptions): Promise<Alone> {
  const { config } = loaded;
  const { state_dir: stateDir, run_dir: runDir } = config.sandbox;
  checkState(config);
  const app = createGeode(config, machine, warn);
  await using opened = new AsyncDisposableStack();
  const runs = opened.use(app.runs({ pool: 'off' }));
  reapInBackground(opened, runs);
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
