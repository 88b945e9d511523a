import { bubblewrapRuntime } from '../../src/runtimes/bubblewrap/bubblewrap.ts';
import { dockerRuntime } from '../../src/runtimes/docker/docker.ts';
import { containerName } from '../../src/runtimes/home.ts';
import type { RuntimesOptions } from '../../src/runtimes/index.ts';
import { nativeRuntime } from '../../src/runtimes/native/native.ts';
import type { Runtime } from '../../src/seams/runtime.ts';
import type { Sandbox } from '../../src/seams/sandbox.ts';
import { openHarness, type World } from '../../test/contracts/harness.ts';
import type { Bench } from '../section.ts';

export type PlaceName = 'docker' | 'docker over stdio' | 'bubblewrap' | 'native';

/** A label on every sandbox and container of a bench, so that leftovers can be recognised. */
export const benchOwner = 'bench';

/** A runtime with folders of its own. Disposing of it stops all that was opened there. */
export interface Place extends AsyncDisposable {
  readonly runtime: Runtime;
  open(): Promise<Sandbox>;
}

/** Undefined when it can be opened here; else the reason why not. */
export function whyNot({ engines }: Bench, name: PlaceName): string | undefined {
  if (name === 'native') return undefined;
  const engine = name === 'bubblewrap' ? engines.bubblewrap : engines.docker;
  return engine.available ? undefined : `${name}: ${engine.reason}`;
}

export async function openPlace({ engines: { docker } }: Bench, name: PlaceName): Promise<Place> {
  const world: World = {
    dockerLink: name === 'docker over stdio' ? 'stdio' : 'socket',
    ...(docker.available ? { dockerSocket: docker.socket } : {}),
  };
  const harness = await openHarness(makers[name], world);
  return {
    runtime: harness.runtime,
    async open() {
      const sandbox = await harness.open({ owner: benchOwner });
      containers.set(sandbox, containerName(harness.options, sandbox.id));
      return sandbox;
    },
    [Symbol.asyncDispose]: () => harness.close(),
  };
}

const onDocker = (options: RuntimesOptions): Runtime => dockerRuntime(options, options.docker);

const makers: Readonly<Record<PlaceName, (options: RuntimesOptions) => Runtime>> = {
  docker: onDocker,
  'docker over stdio': onDocker,
  bubblewrap: bubblewrapRuntime,
  native: nativeRuntime,
};

const containers = new WeakMap<Sandbox, string>();

/** The container that a sandbox of the docker runtime is, if a place has opened it. */
export function containerOf(sandbox: Sandbox): string {
  const name = containers.get(sandbox);
  if (name === undefined) throw new Error(`no place has opened ${sandbox.id}`);
  return name;
}
