/**
 * The one place where Geode is assembled. A host opens every part once, in this order, and closes them in reverse.
 * Everything else is a client of the API that it serves.
 */
import { join } from 'node:path';
import type { ApiParts } from '../api/environment.ts';
import { createLog } from '../api/log.ts';
import { pullWatch } from '../api/pull-watch.ts';
import { openApprovals } from '../approvals/open-approvals.ts';
import { withdrawWithSandbox } from '../approvals/withdraw-with-sandbox.ts';
import type { LoadedConfig } from '../config/load.ts';
import { configuredLimits, mostLimits } from '../config/sandbox-limits.ts';
import { openE2b } from '../doors/e2b/open-e2b.ts';
import { e2bDoor } from '../doors/e2b/serve-e2b.ts';
import { openTerminalDoor } from '../doors/open-terminal/serve-open-terminal.ts';
import { openAiDoor } from '../doors/openai/serve-openai.ts';
import { type KeyStore, openKeys } from '../identity/keys.ts';
import { Logins } from '../identity/logins.ts';
import { EventLog } from '../ledger/event-log.ts';
import { Ledger } from '../ledger/ledger.ts';
import { type HostLockOptions, lockHost } from '../machine/host-lock.ts';
import type { Machine } from '../machine/machine.ts';
import { markState } from '../machine/state-version.ts';
import { mcpOverHttp } from '../mcp/http.ts';
import { openPreviews } from '../previews/previews.ts';
import { openLiveContexts } from '../runs/contexts/live-contexts.ts';
import { RunTable } from '../runs/history/run-table.ts';
import type { Runs } from '../runs/index.ts';
import type { Agents } from '../seams/agent.ts';
import type { Approvals } from '../seams/approval.ts';
import type { Chats } from '../seams/chat.ts';
import { userOfNamespace } from '../seams/chat-memory.ts';
import type { Events } from '../seams/events.ts';
import type { Sandboxes } from '../seams/persistent.ts';
import type { ToolSessions } from '../seams/tools.ts';
import { type OpenedSolves, openSolves } from '../solve/open-solves.ts';
import { agentPlace, keepAgentsReady } from './agent-place.ts';
import { openConfiguredAgents } from './agents.ts';
import { openBackups } from './backup/open-backups.ts';
import { openConfiguredImages } from './built-images.ts';
import { openConfiguredChats } from './chats.ts';
import { openConfiguredMemory } from './configured-memory.ts';
import { openConfiguredTelemetry } from './configured-telemetry.ts';
import { createGeode, type Geode } from './geode.ts';
import { type HostMemory, hostMemory } from './host-memory.ts';
import { hostStatus } from './host-status.ts';
import { openConfiguredModels } from './models.ts';
import { openMeasurements } from './open-measurements.ts';
import { type OpenProviderSetup, openProviderSetup } from './provider-setup.ts';
import { reapInBackground } from './reap-in-background.ts';
import { recordedRuns } from './recorded-runs.ts';
import { checkState, hostChapters } from './state/tables.ts';
import { openConfiguredServers } from './tool-servers.ts';
import { openHostTools } from './tool-sessions.ts';
import { reportChange } from './upgrade/record.ts';
import { openConfiguredWebhooks } from './webhooks.ts';

export interface OpenHostOptions extends HostLockOptions {
  readonly loaded: LoadedConfig;
  readonly machine: Machine;
  readonly version: string;
  /** `idle`: stop idle sandboxes; `all`: also keep blank sandboxes ready; `nothing`: for a single command. */
  readonly tends: 'nothing' | 'idle' | 'all';
  /** `all`: also open the platforms of the config. Default `web`: only through the API. */
  readonly channels?: 'all' | 'web';
  /** Minimum log level; default: the config's. */
  readonly logLevel?: string;
  /** Receives warnings for the user. Defaults to the log. */
  readonly warn?: (message: string) => void;
}

/** Every part, open. Closing it ends nothing in the sandboxes. */
export interface OpenHost extends AsyncDisposable {
  readonly app: Geode;
  readonly log: ApiParts['log'];
  readonly events: Events;
  readonly sandboxes: Sandboxes;
  readonly runs: Runs;
  /** Asks a person, and stores the decisions. */
  readonly approvals: Approvals;
  readonly agents: Agents;
  readonly solves: OpenedSolves;
  readonly memory: HostMemory;
  readonly keys: KeyStore;
  readonly providers: OpenProviderSetup;
  /** Tools for programs in sandboxes. */
  readonly tools: ToolSessions;
  /** Everything in the form that the API serves. */
  readonly parts: ApiParts;
}

/** Throws `ledger_held`, with the other's pid, while another process is the host of the same folder. */
export async function openHost(options: OpenHostOptions): Promise<OpenHost> {
  const { loaded, machine, version, tends, logLevel, warn, channels = 'web', ...lock } = options;
  const { config } = loaded;
  const { state_dir: stateDir } = config.sandbox;
  await using opened = new AsyncDisposableStack();

  // Set once the secret store is open.
  let secretValues: () => readonly string[] = () => [];
  const log = createLog(logLevel ?? config.gateway.log_level, undefined, () => secretValues());
  checkState(config);
  opened.use(await lockHost(stateDir, lock));
  markState(stateDir, version);
  const ledger = opened.use(new Ledger(join(stateDir, 'ledger.db'), hostChapters));
  const measured = opened.use(openMeasurements());
  const telemetry = await openConfiguredTelemetry(config, machine, { log, version });
  if (telemetry !== undefined) opened.use(telemetry);
  const events = measured.counted(new EventLog(ledger, { keep: config.gateway.keep_events, log }));
  await reportChange(stateDir, events);
  const approvals = opened.use(openApprovals({ ledger, events, log }));
  const app = createGeode(
    config,
    machine,
    warn ?? ((message) => log.warn(message)),
    events,
    approvals,
    telemetry,
  );
  const servers = openConfiguredServers(config, { app, version, log });
  const tools = openHostTools({ config, ledger, events, log, version, approvals, servers });
  secretValues = () => app.egress.secretValues(null);
  const sandboxes = opened.use(
    await app.sandboxes({
      ledger,
      tends,
      events: withdrawWithSandbox(events, approvals),
      log,
      tools: tools.sessions,
      signal: lock.signal,
      onPull: (event) => pullWatch.getStore()?.(event),
    }),
  );
  const history = new RunTable(ledger, config.runs.keep);
  const runs = opened.use(
    app.runs({
      pool: tends === 'nothing' ? 'off' : 'on',
      watch: recordedRuns({ events, history, log, secretValues: app.egress.secretValues }),
    }),
  );
  reapInBackground(opened, runs);
  const memoryName = config.memory.index === 'qdrant' ? 'qdrant' : 'sqlite';
  const memory = opened.use(
    hostMemory(
      memoryName,
      () =>
        openConfiguredMemory(config, { secrets: (name) => app.egress.secretValues(userOfNamespace(name)) }),
      events,
    ),
  );
  const webhooks = opened.use(
    openConfiguredWebhooks(config, { app, ledger, events, log, sends: tends !== 'nothing' }),
  );
  const models = openConfiguredModels(config, ledger);
  const providers = openProviderSetup({ loaded, machine, models, secrets: app.egress.secrets, events });
  const solves = openSolves({
    ...{ ledger, runs, models, memory, events },
    crystalDays: config.solve.crystal_days,
    recallTokens: config.solve.recall_tokens,
  });
  const keys = opened.use(openKeys(config.gateway.keys_file));
  const logins = opened.use(new Logins(config.gateway.keys_file));
  const place = agentPlace(config, app);
  // Open the channels only after the agents' sandboxes are ready.
  if (config.container_agent.enabled && channels === 'all') await place({ signal: lock.signal });
  if (tends === 'all') keepAgentsReady(opened, config, { place, sandboxes, log });
  let chats: Chats | undefined;
  const { agents, replays } = openConfiguredAgents(config, {
    schedules: (user) => chats?.of(user).schedules,
    ...{ ledger, sandboxes, models, memory, approvals, events, log, app, place },
    tools: tools.sessions,
    telemetry,
  });
  opened.use(agents);
  opened.use(replays);
  chats = opened.use(
    await openConfiguredChats(config, {
      agents,
      approvals,
      sandboxes,
      events,
      log,
      channels,
      models,
      telemetry,
    }),
  );

  const open: NonNullable<ApiParts['open']> = (spec, { runtime, onPull: pulled, signal }) =>
    app.open(spec, {
      ...(runtime && { runtime }),
      ...(pulled && { onPull: pulled }),
      ...(signal && { signal }),
    });
  const contexts = opened.use(openLiveContexts({ sandboxes, open, events, imageFor: app.imageFor }));
  const previews = opened.use(openPreviews());
  const { templates, domain } = config.e2b;
  const e2b = opened.use(
    openE2b(ledger, { sandboxes, templates, domain, limits: configuredLimits(config), log }),
  );
  const backups = opened.use(openBackups({ loaded, sandboxes, events, log, version }));
  const parts: ApiParts = {
    backups,
    hostStatus: (cancel) =>
      hostStatus({ loaded, version, app, ledger, sandboxes, runs, memory, chats, backups }, cancel),
    measurements: measured.of({ ledger, sandboxes, runs, stateDir, version, telemetry }),
    ...(telemetry && { telemetry }),
    version,
    log,
    events,
    sandboxes,
    journals: (id, show, user) => app.journals(id, show, user),
    runs,
    history,
    egress: app.egress,
    approvals,
    chats,
    previews,
    agents,
    replays,
    solves,
    memory,
    keys,
    logins,
    open,
    mostLimits: mostLimits(config),
    contexts,
    probe: () => app.probe(),
    image: (name, asked) => app.image(name, asked),
    imageStore: app.imageStore,
    images: openConfiguredImages(config, { app, machine, ledger, events, log, version }),
    settings: () => providers.settings,
    providers,
    doctor: (cancel) => app.doctor(cancel),
    doors: [e2bDoor(e2b), openAiDoor(agents), openTerminalDoor(ledger)],
    mcp: mcpOverHttp(version),
    webhooks,
    tools: tools.sessions,
  };
  tools.begin(parts);
  opened.use(tools);
  const all = opened.move();
  return {
    app,
    log,
    events,
    sandboxes,
    runs,
    approvals,
    agents,
    solves,
    memory,
    keys,
    providers,
    tools: tools.sessions,
    parts,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
