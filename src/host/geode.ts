import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { upstreamOf } from '../agents/sandboxed/upstream.ts';
import type { Cancel } from '../base/cancel.ts';
import { GeodeError, reasonOf } from '../base/errors.ts';
import { localUser } from '../base/identity.ts';
import { knownPrices } from '../base/prices.ts';
import { configuredLimits, mostLimits } from '../config/sandbox-limits.ts';
import type { Config } from '../config/schema.ts';
import { policyOf } from '../contract/egress-rules.ts';
import { type EgressHost, type OperatorCredential, openEgress } from '../egress/open-egress.ts';
import { dockerCredentials } from '../images/store/credentials.ts';
import { openImageStore } from '../images/store/store.ts';
import { journalFiles } from '../journals/journal-files.ts';
import { type JournalReading, journalReading } from '../journals/journal-reading.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { HostLockOptions } from '../machine/host-lock.ts';
import type { Machine } from '../machine/machine.ts';
import { type LocalEmbedderOptions, openLocalEmbedder } from '../memory/embed/local-embedder.ts';
import { openRemoteEmbedder } from '../memory/embed/remote-embedder.ts';
import type { extractText } from '../memory/extract/extract.ts';
import { type MemoryOptions, openMemory } from '../memory/open-memory.ts';
import { createRuns, type Runs } from '../runs/index.ts';
import { defaultImages } from '../runs/languages/index.ts';
import { PullAllowance, registryOf } from '../runs/pull-rules.ts';
import { redactedRuns } from '../runs/redacted-runs.ts';
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
import type { EgressSpec } from '../seams/egress.ts';
import { type EventSink, noEvents } from '../seams/events.ts';
import type { ImageStore } from '../seams/image-store.ts';
import type { ImageFacts } from '../seams/images.ts';
import type { Embedder, MemoryStore } from '../seams/memory.ts';
import type { Sandboxes, SandboxStatus } from '../seams/persistent.ts';
import type { ContextLanguage, PullEvent } from '../seams/run.ts';
import type { Runtime, RuntimeName } from '../seams/runtime.ts';
import type { Sandbox, SandboxSpec } from '../seams/sandbox.ts';
import type { ShellPolicy } from '../seams/shell-policy.ts';

/** All of Geode, built from a config. Nothing starts until it is used. */
export type { ProbedRuntime };

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
  runs(options?: { readonly pool?: 'on' | 'off' }): Runs;
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
  host: Machine,
  warn: (message: string) => void,
  events: EventSink = noEvents,
  approvals?: Approvals,
): Geode {
  const places = { stateDir: config.sandbox.state_dir, runDir: config.sandbox.run_dir };
  const guestDir = fileURLToPath(new URL('../../guest/dist', import.meta.url));
  const store = openImageStore({
    folder: join(config.sandbox.state_dir, 'images'),
    program: imagesProgram({ guestDir, arch: host.arch }),
    architecture: host.arch === 'x64' ? 'amd64' : host.arch,
    credentials: dockerCredentials(host),
    used: () => imagesInUse(places, ['oci', 'bubblewrap']),
    keepBytes: config.images.store_size,
  });
  const runtimes = allRuntimes({
    ...places,
    guestDir,
    uid: host.uid,
    gid: host.gid,
    uids: uidsOf(config),
    platform: host.platform,
    arch: host.arch,
    path: host.path,
    mounts: {
      roots: [...config.security.mount_roots, ...(config.container_agent.enabled ? agentFiles : [])],
      writableRoots: config.security.writable_mount_roots,
      homes: [host.home],
      own: [
        config.sandbox.state_dir,
        config.sandbox.run_dir,
        config.memory.file,
        config.gateway.keys_file,
        config.egress.secrets_key,
        host.configDir,
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
  const egress = openEgress({
    ledgerFile: join(config.sandbox.state_dir, 'ledger.db'),
    audit: { mostRecords: config.egress.audit_records, keepMs: config.egress.audit_days * 24 * 3_600_000 },
    secretsKeyFile: config.egress.secrets_key,
    usage: {
      prices: { ...knownPrices, ...config.providers.prices },
      budgetPerDay: config.providers.daily_budget,
      tokensPerDay: config.providers.daily_tokens,
    },
    warn,
    events,
    ...(approvals && { approvals }),
    askMs: config.egress.ask_timeout * 1000,
    upstreamCa: upstreamCaOf(config),
    operatorKeys: keysOf(config),
    operatorCredentials: config.container_agent.enabled ? modelCredentials(config) : [],
    initial: initialEgress(config),
    denied: policyOf({ deny: config.egress.deny }).deny,
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
    if (chosen.images === undefined) return undefined;
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
    runs: ({ pool = 'on' } = {}) =>
      redactedRuns(
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
        }),
        egress.secretValues,
      ),
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
          removeMs: milliseconds(config.sandbox.remove_after),
        },
        journalQuota:
          config.sandbox.journals === null
            ? undefined
            : { bytesOfUser: config.sandbox.journals, folderOf: (id) => roomOf(places, id).journals },
        sweepEveryMs: tends === 'nothing' ? null : config.sandbox.sweep_every * 1000,
        warn,
        formerUser: host.user,
        egress,
        ...lock,
      };
      return ledger === undefined ? openSandboxes(options) : sandboxesIn(ledger, options);
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
      const found = await (await runtime(wanted)).probe({ signal });
      const hasImages = found.available && found.capabilities.images;
      return hasImages ? (config.runs.images[language] ?? defaultImages[language]) : undefined;
    },
    async open(spec = {}, { runtime: name, signal, onPull } = {}) {
      const chosen = await runtime(name);
      if (onPull !== undefined) await imageOn(chosen, spec.image, onPull, { signal });
      return chosen.open({ ...spec, limits: { ...configuredLimits(config), ...spec.limits } }, { signal });
    },
    async doctor(cancel) {
      const { checkMachine } = await import('./doctor.ts');
      return checkMachine(config, geode, cancel);
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

/** The registries that the config allows, and those of the images in the config. */
function registriesOf({ images, docker, runs, e2b, container_agent: agent }: Config): readonly string[] {
  const named = [docker.image, agent.image, ...Object.values(runs.images), ...Object.values(e2b.templates)];
  return [
    ...images.registries,
    ...named.flatMap((image) => (image === undefined ? [] : [registryOf(image)])),
  ];
}

/** Every key that the config holds. */
function keysOf({ memory, qdrant, providers }: Config): readonly string[] {
  const services = Object.values(providers.services).map(({ api_key: key }) => key);
  return [memory.api_key, qdrant.api_key, ...services].filter((key) => key !== undefined);
}

/** Files mounted read-only for agents inside sandboxes: their program, and this host's Node. */
const agentFiles = [fileURLToPath(new URL('../../bundle', import.meta.url)), process.execPath];

/** Agents inside sandboxes use the models of the config with its keys, which stay outside. */
function modelCredentials({ providers }: Config): readonly OperatorCredential[] {
  return Object.values(providers.services).flatMap(({ kind, base_url: baseUrl, api_key: secret }) => {
    const upstream = upstreamOf({ kind, baseUrl });
    return upstream === undefined || secret === undefined ? [] : [{ binding: kind, upstream, secret }];
  });
}

/** Read at the start, so that a missing file is reported then. */
function upstreamCaOf({ egress: { upstream_ca: file } }: Config): string | undefined {
  if (file === undefined) return undefined;
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new GeodeError(
      'invalid_config',
      `egress.upstream_ca, ${file}, cannot be read: ${reasonOf(error)}.`,
    );
  }
}

/** Undefined if the config sets none: then nothing is allowed. */
function initialEgress({ egress: { allow, deny, ask } }: Config): EgressSpec | undefined {
  if (allow.length === 0 && !ask) return undefined;
  const policy = policyOf({ allow, deny });
  return { policy: ask && policy.mode !== 'allow-all' ? { ...policy, mode: 'ask' } : policy, bindings: [] };
}

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

export interface OpenedMemory extends AsyncDisposable {
  readonly store: MemoryStore;
  /** Resolves when the embedder can answer. Throws `model_unavailable` if its model cannot be downloaded. */
  prepare(): Promise<void>;
}

export interface OpenMemoryOptions
  extends Pick<LocalEmbedderOptions, 'onProgress'>,
    Pick<MemoryOptions, 'indexing' | 'secrets'> {}

/** Waits for no model: a missing one is downloaded in the background. The caller disposes of the result. */
export async function openConfiguredMemory(
  config: Config,
  { onProgress, indexing = 'background', secrets = () => keysOf(config) }: OpenMemoryOptions = {},
): Promise<OpenedMemory> {
  const { memory, qdrant } = config;
  await mkdir(dirname(memory.file), { recursive: true, mode: 0o700 });
  const embedder = openEmbedder(memory, { ...(onProgress && { onProgress }) });
  const store = openMemory({
    file: memory.file,
    embedder,
    indexing,
    pendingText: memory.pending_text,
    ...(memory.index === 'qdrant' && {
      qdrant: {
        url: qdrant.url,
        ...(qdrant.api_key && { apiKey: qdrant.api_key }),
        ...(qdrant.collection && { collection: qdrant.collection }),
        ...(qdrant.replicas && { replicas: qdrant.replicas }),
      },
    }),
    secrets,
  });
  return {
    store,
    prepare: async () => embedder.prepare?.(),
    async [Symbol.asyncDispose]() {
      await store.stop();
      await embedder.stop();
    },
  };
}

function openEmbedder(memory: Config['memory'], options: Omit<LocalEmbedderOptions, 'folder'>): Embedder {
  if (memory.embedder === 'local') {
    return openLocalEmbedder({
      folder: memory.model_dir,
      ...(memory.model && { model: memory.model }),
      ...options,
    });
  }
  if (memory.model === undefined || memory.dimensions === undefined) {
    throw new GeodeError(
      'invalid_config',
      `memory.embedder is ${memory.embedder}, which needs memory.model and memory.dimensions.`,
    );
  }
  return openRemoteEmbedder({
    provider: memory.embedder,
    model: memory.model,
    dimensions: memory.dimensions,
    ...(memory.base_url && { baseUrl: memory.base_url }),
    ...(memory.api_key && { apiKey: memory.api_key }),
  });
}
