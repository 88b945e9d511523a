import { GeodeError } from '../base/errors.ts';
import type { Available, Runtime, RuntimeName, Unavailable } from '../seams/runtime.ts';
import { type AppleOptions, appleRuntime } from './apple/apple.ts';
import { bubblewrapRuntime } from './bubblewrap/bubblewrap.ts';
import { dockerRuntime } from './docker/docker.ts';
import type { DockerOptions } from './docker/options.ts';
import { nativeRuntime } from './native/native.ts';
import { ociRuntime } from './oci/oci.ts';
import type { OciOptions } from './oci/options.ts';
import type { RuntimeOptions } from './options.ts';

export interface RuntimesOptions extends RuntimeOptions {
  readonly docker: DockerOptions;
  readonly apple: AppleOptions;
  /** Missing without a store of images. */
  readonly oci?: OciOptions;
}

/** Every runtime, strongest first. */
export function allRuntimes(options: RuntimesOptions): readonly Runtime[] {
  return [
    appleRuntime(options, options.apple),
    ...(options.oci === undefined ? [] : [ociRuntime(options, options.oci)]),
    dockerRuntime(options, options.docker),
    bubblewrapRuntime(options, options.oci?.store),
    nativeRuntime(options),
  ];
}

export interface ProbedRuntime {
  readonly runtime: Runtime;
  readonly found: Available | Unavailable;
}

/** Probes all at once; each has its own deadline. */
export function availableRuntimes(runtimes: readonly Runtime[]): Promise<readonly ProbedRuntime[]> {
  return Promise.all(runtimes.map(async (runtime) => ({ runtime, found: await runtime.probe() })));
}

export interface RuntimeChoice {
  readonly name: 'auto' | RuntimeName;
  readonly allowFallbackToNative: boolean;
  /** Called when code will run without isolation although nobody asked for that. */
  readonly warn: (message: string) => void;
}

/**
 * The runtime to use; otherwise throws with every reason. A weaker one is never chosen silently: `auto` chooses among
 * those that isolate. Native is used only if the config allows it, with a warning.
 */
export async function chooseRuntime(runtimes: readonly Runtime[], choice: RuntimeChoice): Promise<Runtime> {
  const wanted = runtimes.filter(({ name }) =>
    choice.name === 'auto' ? name !== 'native' : name === choice.name,
  );
  const probed = await availableRuntimes(wanted);
  // `runc` may be installed as part of an engine, so it is used only when named.
  const working = probed.find(
    ({ runtime, found }) =>
      found.available && (choice.name !== 'auto' || runtime.name !== 'oci' || found.grade === 'kernel'),
  );
  if (working !== undefined) return working.runtime;
  const reasons = probed
    .map(({ runtime, found }) =>
      found.available
        ? `${runtime.name}: ${found.version} is used only if named (set runtime.name to ${runtime.name})`
        : `${runtime.name}: ${found.reason} (${found.fix})`,
    )
    .join('; ');
  const native = runtimes.find(({ name }) => name === 'native');
  if (choice.allowFallbackToNative && native !== undefined && (await native.probe()).available) {
    choice.warn(
      `No isolation: running natively on this machine, because runtime.allow_fallback_to_native is set. ${reasons}`,
    );
    return native;
  }
  const asked =
    choice.name === 'auto'
      ? 'No isolating runtime works here.'
      : `The runtime ${choice.name} does not work here.`;
  throw new GeodeError('runtime_unavailable', `${asked} ${reasons}`);
}
