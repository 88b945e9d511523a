import { fileURLToPath } from 'node:url';
import type { Host } from './config/host.ts';
import type { Config } from './config/schema.ts';
import type { Limits } from './core/limits.ts';
import type { Runtime, RuntimeName } from './core/runtime.ts';
import type { Sandbox, SandboxSpec } from './core/sandbox.ts';
import { createRuns, type Runs } from './runs/index.ts';
import { allRuntimes, availableRuntimes, chooseRuntime, type ProbedRuntime } from './runtimes/index.ts';
import { journalFiles } from './sandboxes/journal-files.ts';
import type { ShellPolicy } from './shell/policy.ts';

/** Everything that Geode does, put together from a config. Nothing starts until it is asked for. */
export interface App {
  readonly runtimes: readonly Runtime[];
  readonly shellPolicy: ShellPolicy;
  /** Every runtime with what it promises here, or why it cannot. */
  probe(): Promise<readonly ProbedRuntime[]>;
  /** The configured runtime, or the one named. */
  runtime(name?: RuntimeName): Promise<Runtime>;
  /** Runs of code. `pool: 'off'` for a single one: nothing is kept ready for a next. */
  runs(options?: { readonly pool?: 'on' | 'off' }): Runs;
  /** A sandbox with the config's limits, where the spec says nothing else. */
  open(
    spec?: SandboxSpec,
    options?: { readonly runtime?: RuntimeName; readonly signal?: AbortSignal },
  ): Promise<Sandbox>;
}

export function createApp(config: Config, host: Host, warn: (message: string) => void): App {
  const runtimes = allRuntimes({
    stateDir: config.sandbox.state_dir,
    runDir: config.sandbox.run_dir,
    guestDir: fileURLToPath(new URL('../guest/dist', import.meta.url)),
    uid: host.uid,
    gid: host.gid,
    platform: host.platform,
    arch: host.arch,
    path: host.path,
    mounts: {
      roots: config.security.mount_roots,
      writableRoots: config.security.writable_mount_roots,
      homes: [host.home],
    },
    journals: (folder) => journalFiles(folder),
    docker: {
      host: config.docker.host,
      defaultImage: config.docker.image,
      ociRuntime: config.docker.oci_runtime,
      link: config.docker.link,
    },
    apple: { program: config.apple.program, defaultImage: config.apple.image },
  });
  const shellPolicy: ShellPolicy = { mode: config.security.shell, programs: config.security.shell_programs };
  const runtime = (name: RuntimeName | 'auto' = config.runtime.name) =>
    chooseRuntime(runtimes, { name, allowFallbackToNative: config.runtime.allow_fallback_to_native, warn });

  return {
    runtimes,
    shellPolicy,
    probe: () => availableRuntimes(runtimes),
    runtime,
    runs: ({ pool = 'on' } = {}) =>
      createRuns({
        runtimes,
        choose: runtime,
        images: config.runs.images,
        pool: { floor: config.runs.pool_floor, ceiling: pool === 'on' ? config.runs.pool_ceiling : 0 },
        concurrency: config.runs.concurrency,
        mostWaiting: config.runs.queue,
        pullDeadlineMs: config.runs.pull_timeout * 1000,
      }),
    async open(spec = {}, options = {}) {
      const chosen = await runtime(options.runtime);
      return chosen.open({ ...spec, limits: { ...configuredLimits(config), ...spec.limits } }, options);
    },
  };
}

/** Only what the config says: what it leaves out is the runtime's to fill in. */
function configuredLimits({ sandbox }: Config): Limits {
  return {
    ...(sandbox.memory === undefined ? {} : { memoryBytes: sandbox.memory }),
    ...(sandbox.cpus === undefined ? {} : { cpus: sandbox.cpus }),
    ...(sandbox.pids === undefined ? {} : { pids: sandbox.pids }),
    ...(sandbox.open_files === undefined ? {} : { openFiles: sandbox.open_files }),
  };
}
