/** A server with everything that a host gives it: sandboxes that stay, runs and contexts, in real walls. */
import { join } from 'node:path';
import { type ApiParts, defaultApiOptions } from '../../src/api/environment.ts';
import { createApiServer } from '../../src/api/server.ts';
import { approvalChapter } from '../../src/approvals/approval-table.ts';
import { openApprovals } from '../../src/approvals/open-approvals.ts';
import { noLog } from '../../src/base/log.ts';
import { createClient, type GeodeClient } from '../../src/client/client.ts';
import { unixTransport } from '../../src/client/unix-transport.ts';
import type { EgressHost, EgressOptions } from '../../src/egress/open-egress.ts';
import { journalReading } from '../../src/journals/journal-reading.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import { openServers } from '../../src/mcp/servers/open-servers.ts';
import { openToolSessions } from '../../src/mcp/sessions/open-sessions.ts';
import { toolChapter } from '../../src/mcp/sessions/tables.ts';
import { sessionTools } from '../../src/mcp/sessions/tools.ts';
import { openPreviews } from '../../src/previews/previews.ts';
import { roomOf } from '../../src/runtimes/rooms.ts';
import type { Approvals } from '../../src/seams/approval.ts';
import { noEvents } from '../../src/seams/events.ts';
import type { Sandboxes } from '../../src/seams/persistent.ts';
import type { RuntimeName } from '../../src/seams/runtime.ts';
import type { World } from '../contracts/harness.ts';
import { egressIn, type SandboxWorld, sandboxWorld } from '../sandboxes/world.ts';
import { startTestServer, type TestServer, type TestServerOptions } from './server-fixture.ts';

export interface TestHost extends AsyncDisposable {
  readonly world: SandboxWorld;
  readonly sandboxes: Sandboxes;
  readonly egress: EgressHost;
  readonly approvals: Approvals;
  readonly server: TestServer;
  readonly parts: Partial<ApiParts>;
  /** A client of the API on a Unix socket, where the caller is the operator of the host. */
  socketClient(): Promise<GeodeClient>;
}

export interface TestHostOptions extends Omit<TestServerOptions, 'parts'> {
  readonly runtime?: RuntimeName;
  readonly world?: World;
  /** How names are resolved, what the operator denies, and the like. */
  readonly hatches?: Partial<EgressOptions>;
  readonly more?: (world: SandboxWorld, sandboxes: Sandboxes, egress: EgressHost) => Partial<ApiParts>;
}

export async function startTestHost({
  runtime = 'bubblewrap',
  world: given = {},
  hatches = {},
  more = () => ({}),
  ...options
}: TestHostOptions = {}): Promise<TestHost> {
  await using opened = new AsyncDisposableStack();
  const world = opened.use(await sandboxWorld(runtime, given));
  const { stateDir, runDir } = world.options;
  const ledger = opened.use(new Ledger(join(stateDir, 'ledger.db'), [approvalChapter, toolChapter]));
  const approvals = opened.use(openApprovals({ ledger, events: noEvents }));
  const egress = egressIn(stateDir, hatches);
  const tools = opened.use(
    openToolSessions({
      servers: openServers([], { version: 'test', log: noLog }),
      ledger,
      tools: sessionTools,
      initial: ['list_resources', 'read_resource'],
      rules: {
        rate: { perMinute: 6000, burst: 100 },
        timeoutMs: 60_000,
        askTimeoutMs: 60_000,
        schedules: 'ask',
        mostSchedules: 10,
      },
      auditLimits: { mostRecords: 1000, keepMs: 3_600_000 },
      // No call is made here: what the routes do to sessions is tried.
      client: () => Promise.reject(new Error('no tool is called')),
      events: { ...noEvents, read: noNews },
      log: noLog,
      version: 'test',
      approvals,
    }),
  );
  const sandboxes = await world.host({ egress, tools });
  const parts: Partial<ApiParts> = {
    sandboxes,
    egress,
    approvals,
    tools,
    previews: opened.use(openPreviews()),
    journals: (id, show) =>
      journalReading(roomOf({ stateDir, runDir }, id).journals, show === 'raw' ? null : []),
    ...more(world, sandboxes, egress),
  };
  const server = opened.use(await startTestServer({ ...options, parts }));
  const all = opened.move();
  return {
    world,
    sandboxes,
    egress,
    approvals,
    server,
    parts,
    async socketClient() {
      const path = `${world.options.folder}/api.sock`;
      const { memory, keys } = server;
      const { log, version } = server.given;
      const local = createApiServer(
        { memory, keys, log, version, ...parts },
        { ...defaultApiOptions, callers: 'socket' },
      );
      all.use(local);
      const { promise, resolve } = Promise.withResolvers<void>();
      local.server.listen(path, resolve);
      await promise;
      return createClient(unixTransport(path));
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

async function* noNews(): AsyncGenerator<never> {}
