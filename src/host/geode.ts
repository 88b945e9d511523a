import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Cancel } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import { localUser } from '../base/identity.ts';
import { configuredLimits, mostLimits } from '../config/sandbox-limits.ts';
import type { Config } from '../config/schema.ts';
import type { EgressHost } from '../egress/open-egress.ts';
import { dockerCredentials } from '../images/store/credentials.ts';
import { openImageStore } from '../images/store/store.ts';
import { journalFiles } from '../journals/journal-files.ts';
import { type JournalReading, journalReading } from '../journals/journal-reading.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { HostLockOptions } from '../machine/host-lock.ts';
import type { Machine } from '../machine/machine.ts';
import type { extractText } from '../memory/extract/extract.ts';
import { createRuns, type Runs, type WatchRun } from '../runs/index.ts';
import { defaultImages } from '../runs/languages/index.ts';
import { PullAllowance, registryOf } from '../runs/pull-rules.ts';
import { RunImages } from '../runs/run-images.ts';
import { imagesProgram } from '../runtimes/guest-binary.ts';
import { allRuntimes, availableRuntimes, chooseRuntime, type ProbedRuntime } from '../runtimes/index.ts';
import type { UidRange } from '../runtimes/own-users.ts';
import { imagesInUse, roomOf } from '../runtimes/rooms.ts';
import { listOffline } from '../sandboxes/list-offline.ts';
import {
  type HostedOptions,
  openSandboxes,
  type SandboxesOptions,
  sandboxesIn,
} from '../sandboxes/open-sandboxes.ts';
import type { Approvals } from '../seams/approval.ts';
import type { MachineCheck } from '../seams/doctor.ts';
import { type EventSink, noEvents } from '../seams/events.ts';
import type { ImageStore } from '../seams/image-store.ts';
import type { ImageFacts } from '../seams/images.ts';
import type { Sandboxes, SandboxStatus } from '../seams/persistent.ts';
import type { ContextLanguage, PullEvent } from '../seams/run.ts';
import type { Runtime, RuntimeName } from '../seams/runtime.ts';
import type { Sandbox, SandboxSpec } from '../seams/sandbox.ts';
import type { ShellPolicy } from '../seams/shell-policy.ts';
import type { Telemetry } from '../seams/telemetry.ts';
import { openConfiguredEgress } from './configured-egress.ts';
import { checkState } from './state/tables.ts';

export type { ProbedRuntime };

/** All of Geode, built from a config. Nothing starts until it is used. */
export interface Geode {
  readonly runtimes: readonly Runtime[];
  readonly shellPolicy: ShellPolicy;
  /** The host's side of every hatch: policies and audit. */
  readonly egress: EgressHost;
  /** Every runtime with its guarantees here, or the reason why it does not work. */
  probe(): Promise<readonly ProbedRuntime[]>;
  /** The configured runtime, or the one named. */
  runtime(name?: RuntimeName): Promise<Runtime>;
  /** Runs of code. `pool: 'off'` for a single run: nothing is kept ready for the next one. */
  runs(options?: { readonly pool?: 'on' | 'off'; readonly watch?: WatchRun }): Runs;
  /** Becomes the host of the persistent sandboxes and adopts the running ones. Only one process at a time can. */
  sandboxes(options?: HostingOptions): Promise<Sandboxes>;
  /** The existing sandboxes, even while another process is their host. */
  listOffline(options?: Cancel): Promise<readonly SandboxStatus[]>;
  /** The journals of a sandbox, even while another process is the host; secrets are removed unless `show` is raw. */
  journals(sandboxId: string, show?: 'redacted' | 'raw', user?: string): JournalReading;
  /** The images that Geode pulls and stores itself. */
  readonly imageStore: ImageStore;
  /** Finds an image on the configured or given runtime, and pulls a missing one. */
  image(
    name: string,
    options: { readonly runtime?: RuntimeName } & Cancel,
  ): AsyncGenerator<PullEvent, ImageFacts>;
  /** The image for an interpreter of a language; undefined if the machine's own is used. */
  imageFor(
    language: ContextLanguage,
    options?: { readonly runtime?: RuntimeName } & Cancel,
  ): Promise<string | undefined>;
  /** Checks this machine by trying each part. */
  doctor(cancel?: Cancel): Promise<readonly MachineCheck[]>;
  /** The text of a file, for memory; throws `unreadable_file` for one without text. */
  readonly extractText: typeof extractText;
  /** A sandbox with the config's limits, unless the spec sets others. */
  open(
    spec?: SandboxSpec,
    options?: {
      readonly runtime?: RuntimeName;
      readonly signal?: AbortSignal;
      /** Pulls a missing image and reports progress; without it, a missing image is an error. */
      readonly onPull?: (event: PullEvent) => void;
    },
  ): Promise<Sandbox>;
}

interface HostingOptions extends HostLockOptions, Pick<HostedOptions, 'events' | 'log' | 'tools'> {
  /**
   * Background work: `nothing` for a single command, `idle` to stop idle sandboxes, `all` (default) to keep ready
   * sandboxes too.
   */
  readonly tends?: 'nothing' | 'idle' | 'all';
  readonly onPull?: (event: PullEvent) => void;
  /** The ledger of a host that already has the lock. Without it, the lock is taken and the ledger opened. */
  readonly ledger?: Ledger;
}

/** Reports refused connections as events; without approvals, nobody is asked. */
export function createGeode(
  config: Config,
  machine: Machine,
  warn: (message: string) => void,
  events: EventSink = noEvents,
  approvals?: Approvals,
  telemetry?: Telemetry,
): Geode {
  const places = { stateDir: config.sandbox.state_dir, runDir: config.sandbox.run_dir };
  const guestDir = fileURLToPath(new URL('../../guest/dist', import.meta.url));
  const store = openImageStore({
    folder: join(config.sandbox.state_dir, 'images'),
    program: imagesProgram({ guestDir, arch: machine.arch }),
    architecture: machine.arch === 'x64' ? 'amd64' : machine.arch,
    credentials: dockerCredentials(machine),
    used: () => imagesInUse(places, ['oci', 'bubblewrap']),
    keepBytes: config.images.store_size,
  });
  const runtimes = allRuntimes({
    ...places,
    guestDir,
    uid: machine.uid,
    gid: machine.gid,
    uids: uidsOf(config),
    platform: machine.platform,
    arch: machine.arch,
    path: machine.path,
    mounts: {
      roots: [...config.security.mount_roots, ...(config.container_agent.enabled ? agentFiles : [])],
      writableRoots: config.security.writable_mount_roots,
      homes: [machine.home],
      own: [
        config.sandbox.state_dir,
        config.sandbox.run_dir,
        config.memory.file,
        config.gateway.keys_file,
        config.egress.secrets_key,
        config.backup.folder,
        machine.configDir,
      ],
    },
    journals: (folder) => journalFiles(folder),
    docker: {
      host: config.docker.host,
      tls: tlsOf(config),
      sshConfig: config.docker.ssh_config,
      defaultImage: config.docker.image,
      ociRuntime: config.docker.oci_runtime,
      link: config.docker.link,
    },
    apple: { program: config.apple.program, defaultImage: config.apple.image },
    oci: { program: config.oci.program, defaultImage: config.oci.image, store },
  });
  const egress = openConfiguredEgress(config, {
    ...{ warn, events },
    ...(approvals && { approvals }),
    ...(telemetry && { telemetry }),
  });
  const images = new RunImages({
    pullDeadlineMs: config.runs.pull_timeout * 1000,
    allowance: new PullAllowance({
      registries: registriesOf(config),
      mostBytes: config.images.pull_size,
      mostBytesPerDay: config.images.pull_per_day,
    }),
  });
  const shellPolicy: ShellPolicy = { mode: config.security.shell, programs: config.security.shell_programs };
  const runtime = (name: RuntimeName | 'auto' = config.runtime.name) =>
    chooseRuntime(runtimes, { name, allowFallbackToNative: config.runtime.allow_fallback_to_native, warn });
  /** The image by its digest, pulled if needed; undefined for a runtime without images to pull. */
  const imageOn = async (
    chosen: Runtime,
    name: string | undefined,
    onPull: (event: PullEvent) => void,
    cancel: Cancel,
  ): Promise<string | undefined> => {
    if (chosen.images === undefined || (name === undefined && chosen.hasMachinePrograms)) return undefined;
    const pulling = images.resolve(
      chosen.images,
      name ?? (chosen.name === 'oci' ? config.oci.image : config.docker.image),
      cancel,
    );
    let step = await pulling.next();
    for (; !step.done; step = await pulling.next()) onPull(step.value);
    return step.value.id;
  };

  const geode: Geode = {
    runtimes,
    shellPolicy,
    egress,
    imageStore: store,
    probe: () => availableRuntimes(runtimes),
    runtime,
    runs: ({ pool = 'on', watch } = {}) =>
      createRuns({
        runtimes,
        choose: runtime,
        images: config.runs.images,
        limits: config.runs.disk === undefined ? {} : { diskBytes: config.runs.disk },
        most: mostLimits(config),
        pool: { floor: config.runs.pool_floor, ceiling: pool === 'on' ? config.runs.pool_ceiling : 0 },
        prestart: config.runs.start_ahead,
        concurrency: config.runs.concurrency,
        mostWaiting: config.runs.queue,
        pullDeadlineMs: config.runs.pull_timeout * 1000,
        imageCache: images,
        egress,
        secretValues: egress.secretValues,
        watch,
      }),
    sandboxes: ({ tends = 'all', onPull = () => {}, ledger, ...lock } = {}) => {
      const options: SandboxesOptions = {
        runtimes,
        choose: runtime,
        image: (chosen, name, cancel) => imageOn(chosen, name, onPull, cancel),
        limits: configuredLimits(config),
        leaseMs: config.sandbox.lease * 1000,
        pool: tends === 'all' ? readyFor(config) : { floor: 0, ceiling: 0 },
        stateDir: config.sandbox.state_dir,
        most: { most: config.sandbox.most, mostPerUser: config.sandbox.most_per_user },
        policy: {
          idleMs: milliseconds(config.sandbox.idle_timeout),
          idle: config.sandbox.idle,
          removeMs: milliseconds(config.sandbox.remove_after),
        },
        journalQuota:
          config.sandbox.journals === null
            ? undefined
            : { bytesOfUser: config.sandbox.journals, folderOf: (id) => roomOf(places, id).journals },
        mostCheckpointBytes: config.sandbox.checkpoints,
        sweepEveryMs: tends === 'nothing' ? null : config.sandbox.sweep_every * 1000,
        warn,
        formerUser: machine.user,
        egress,
        ...lock,
      };
      if (ledger !== undefined) return sandboxesIn(ledger, options);
      checkState(config);
      return openSandboxes(options);
    },
    listOffline: (cancel) => listOffline(config.sandbox.state_dir, runtimes, cancel),
    journals: (id, show = 'redacted', user = localUser) =>
      journalReading(roomOf(places, id).journals, show === 'raw' ? null : egress.secretValues(user)),
    async *image(name, { runtime: wanted, signal }) {
      const chosen = await runtime(wanted);
      if (chosen.images === undefined)
        throw new GeodeError('cannot_enforce', `The ${chosen.name} runtime has no images.`);
      return yield* images.resolve(chosen.images, name, { signal });
    },
    async imageFor(language, { runtime: wanted, signal } = {}) {
      const chosen = await runtime(wanted);
      const found = await chosen.probe({ signal });
      const hasImages = found.available && found.capabilities.images && !chosen.hasMachinePrograms;
      return hasImages ? (config.runs.images[language] ?? defaultImages[language]) : undefined;
    },
    async open(spec = {}, { runtime: name, signal, onPull } = {}) {
      const chosen = await runtime(name);
      if (onPull !== undefined) await imageOn(chosen, spec.image, onPull, { signal });
      return chosen.open({ ...spec, limits: { ...configuredLimits(config), ...spec.limits } }, { signal });
    },
    async doctor(cancel) {
      const { checkMachine } = await import('./doctor.ts');
      return checkMachine(config, { app: geode, machine }, cancel);
    },
    async extractText(file, cancel) {
      const { extractText } = await import('../memory/extract/extract.ts');
      return extractText(file, cancel);
    },
  };
  return geode;
}

function uidsOf({ sandbox: { first_uid: first, uids: count } }: Config): UidRange | undefined {
  return first === null ? undefined : { first, count };
}

/**
 * The registries that the config allows, and those of the images in the config. `localhost/…` names images that are
 * built here: to pull one, the engine would call this machine.
 */
function registriesOf({ images, docker, runs, e2b, container_agent: agent }: Config): readonly string[] {
  const named = [docker.image, agent.image, ...Object.values(runs.images), ...Object.values(e2b.templates)];
  return [
    ...images.registries,
    ...named
      .flatMap((image) => (image === undefined ? [] : [registryOf(image)]))
      .filter((registry) => registry !== 'localhost'),
  ];
}

/** Files mounted read-only for agents inside sandboxes: their program, and this host's Node. */
const agentFiles = [fileURLToPath(new URL('../../bundle', import.meta.url)), process.execPath];

/** Undefined without TLS settings: then `tcp://` is not encrypted. */
function tlsOf({ docker: { tls_ca: ca, tls_cert: cert, tls_key: key } }: Config) {
  return ca === undefined && cert === undefined && key === undefined ? undefined : { ca, cert, key };
}

/** New chats come in bursts, so a kind in demand may have more than its minimum. */
function readyFor({ sandbox: { ready }, container_agent: agent }: Config): {
  floor: number;
  ceiling: number;
} {
  const agents = agent.enabled ? agent.ready : 0;
  return { floor: ready, ceiling: ready + agents === 0 ? 0 : Math.max(ready + agents, 4) };
}

function milliseconds(seconds: number | null): number | null {
  return seconds === null ? null : seconds * 1000;
}
