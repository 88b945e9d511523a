/** The tool sessions of a host. Their tools use the API as the user of the calling sandbox. */
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { createApi } from '../api/app.ts';
import { type ApiParts, defaultApiOptions } from '../api/environment.ts';
import { GeodeError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { createClient, type GeodeClient } from '../client/client.ts';
import type { Config } from '../config/schema.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { ExternalServers } from '../mcp/servers/open-servers.ts';
import { openToolSessions } from '../mcp/sessions/open-sessions.ts';
import { sessionTools } from '../mcp/sessions/tools.ts';
import type { Approvals } from '../seams/approval.ts';
import type { Events } from '../seams/events.ts';
import type { ToolReach, ToolSessions } from '../seams/tools.ts';

/** Sessions have their own rate limit. */
const unlimited = { perMinute: 1e9, burst: 1e9 };
const dayMs = 24 * 3_600_000;
/** Calls allowed at once, in seconds' worth of the rate. */
const burstSeconds = 2;

export interface HostToolsOptions {
  readonly config: Config;
  readonly ledger: Ledger;
  readonly events: Events;
  readonly log: Log;
  readonly version: string;
  readonly approvals: Approvals;
  /** The operator's MCP servers; closed with the sessions. */
  readonly servers: ExternalServers;
}

export interface HostTools extends AsyncDisposable {
  readonly sessions: ToolSessions;
  /** From now on tools work; earlier calls wait for this. */
  begin(parts: ApiParts): void;
}

export function openHostTools(options: HostToolsOptions): HostTools {
  const { config, ledger, events, log, version, approvals, servers } = options;
  const { promise: client, resolve } = Promise.withResolvers<(reach: ToolReach) => GeodeClient>();
  const stopping = new AbortController();
  const { tools, rate, call_timeout, ask_timeout, audit_records, audit_days } = config.mcp;
  const sessions = openToolSessions({
    ledger,
    events,
    log,
    version,
    approvals,
    tools: sessionTools,
    servers,
    initial: tools,
    rules: {
      rate: { perMinute: rate * 60, burst: rate * burstSeconds },
      timeoutMs: call_timeout * 1000,
      askTimeoutMs: ask_timeout * 1000,
      schedules: config.mcp.schedules,
      mostSchedules: config.mcp.most_schedules,
    },
    auditLimits: { mostRecords: audit_records, keepMs: audit_days * dayMs },
    client: async (reach) => (await client)(reach),
  });
  return {
    sessions,
    begin: (parts) => resolve(clientIn(parts, stopping.signal)),
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await sessions[Symbol.asyncDispose]();
      await servers[Symbol.asyncDispose]();
    },
  };
}

/**
 * The API without a server: no socket leads to it, no caller is an operator, and no header names the calling sandbox.
 */
function clientIn(parts: ApiParts, stopping: AbortSignal): (reach: ToolReach) => GeodeClient {
  const options = {
    ...defaultApiOptions,
    callers: 'tools' as const,
    rate: unlimited,
    failureRate: unlimited,
  };
  const app = createApi(parts, options, stopping);
  const incoming = new IncomingMessage(new Socket());
  const outgoing = new ServerResponse(incoming);
  return (reach) =>
    createClient({
      name: 'the host',
      fetch: async (path, init) => {
        const headers = new Headers(init.headers);
        headers.set('host', 'localhost');
        const request = new Request(`http://localhost${path}`, { ...init, headers });
        return app.fetch(request, { incoming, outgoing, reach });
      },
      connect: () => {
        throw new GeodeError('internal', 'No tool needs a WebSocket');
      },
    }).as(reach.user);
}
