import type { Duplex } from 'node:stream';
import type { HttpBindings } from '@hono/node-server';
import type { Logger } from 'pino';
import type { Cancel } from '../base/cancel.ts';
import type { User } from '../base/identity.ts';
import type { RateLimit } from '../base/rate-limit.ts';
import type { Setting } from '../config/load.ts';
import type { EgressHost } from '../egress/open-egress.ts';
import type { KeyStore, Scope } from '../identity/keys.ts';
import type { Logins } from '../identity/logins.ts';
import type { JournalReading } from '../journals/journal-reading.ts';
import type { Previews } from '../previews/previews.ts';
import type { LiveContexts, OpenFresh } from '../runs/contexts/live-contexts.ts';
import type { RunHistory } from '../runs/history/run-record.ts';
import type { Runs } from '../runs/index.ts';
import type { ProbedRuntime } from '../runtimes/index.ts';
import type { Agents } from '../seams/agent.ts';
import type { Approvals } from '../seams/approval.ts';
import type { Backups } from '../seams/backups.ts';
import type { Chats } from '../seams/chat.ts';
import type { MachineCheck } from '../seams/doctor.ts';
import type { Events } from '../seams/events.ts';
import type { HostStatus } from '../seams/host-status.ts';
import type { ImageStore } from '../seams/image-store.ts';
import type { BuiltImages, ImageFacts } from '../seams/images.ts';
import type { Limits } from '../seams/limits.ts';
import type { Measurements } from '../seams/measurements.ts';
import type { Memory, MemoryStore } from '../seams/memory.ts';
import type { Sandboxes, UserSandboxes } from '../seams/persistent.ts';
import type { ProviderSetup } from '../seams/provider-setup.ts';
import type { Replays } from '../seams/replay.ts';
import type { PullEvent } from '../seams/run.ts';
import type { RuntimeName } from '../seams/runtime.ts';
import type { Telemetry } from '../seams/telemetry.ts';
import type { ToolReach, ToolSessions } from '../seams/tools.ts';
import type { Webhooks } from '../seams/webhooks.ts';
import type { OpenedSolves } from '../solve/open-solves.ts';
import type { ConnectionLimits } from './connections.ts';
import type { SocketConversation } from './conversation.ts';
import type { Door } from './door.ts';
import type { McpDoor } from './mcp-door.ts';
import type { TlsFiles } from './tls-files.ts';

/**
 * The parts of the server. The caller that starts it owns the parts and closes them after `stop`. Routes of a missing
 * part do not exist.
 */
export interface ApiParts {
  readonly memory: MemoryStore;
  /** With `journals`: the persistent sandboxes, their processes, files and snapshots. */
  readonly sandboxes?: Sandboxes;
  /** Output of a sandbox's processes, by the sandbox's id and its user; `raw` does not hide secrets. */
  readonly journals?: (sandboxId: string, show: 'redacted' | 'raw', user: User) => JournalReading;
  readonly runs?: Runs;
  /** Finished runs. */
  readonly history?: RunHistory;
  /** Servers in sandboxes, available on this machine. */
  readonly previews?: Previews;
  /** Network policies, network requests and the credentials of bindings. */
  readonly egress?: EgressHost;
  readonly backups?: Backups;
  /** Traces for OpenTelemetry. */
  readonly telemetry?: Telemetry;
  /** Figures for Prometheus. */
  readonly measurements?: Measurements;
  /** Requests that wait for a person's decision. */
  readonly approvals?: Approvals;
  /** Conversations with agents in sandboxes. */
  readonly agents?: Agents;
  /** Plays recorded turns of agents again. */
  readonly replays?: Replays;
  readonly solves?: OpenedSolves;
  readonly open?: OpenFresh;
  /** Maximum limits for callers without the scope `admin`; left out: Geode's own maxima. */
  readonly mostLimits?: Limits;
  /** Interpreters that callers opened. Shared by all servers of a host. */
  readonly contexts?: LiveContexts;
  /** Every runtime with its guarantees here, or the reason why it does not work. */
  readonly probe?: () => Promise<readonly ProbedRuntime[]>;
  /** Finds an image and pulls a missing one: yields the progress, then the image. */
  readonly image?: (
    name: string,
    options: { readonly runtime?: RuntimeName } & Cancel,
  ) => AsyncGenerator<PullEvent, ImageFacts>;
  /** The images that Geode pulls and stores itself. */
  readonly imageStore?: ImageStore;
  /** Geode's own images. */
  readonly images?: BuiltImages;
  /** Every setting with its current value; the API masks the secrets among them. */
  readonly settings?: () => readonly Setting[];
  /** Connects a model provider while the host runs. */
  readonly providers?: ProviderSetup;
  readonly hostStatus?: (cancel: Cancel) => Promise<HostStatus>;
  readonly doctor?: (cancel: Cancel) => Promise<readonly MachineCheck[]>;
  /** Chats with agents, on every channel. */
  readonly chats?: Chats;
  /** The events of this host. */
  readonly events?: Events;
  /** Calls of users' own servers when something happens to their sandboxes. */
  readonly webhooks?: Webhooks;
  /** Tools for programs in sandboxes. */
  readonly tools?: ToolSessions;
  /** Protocols of other products, such as E2B's at `/e2b`. */
  readonly doors?: readonly Door[];
  /** Tools for models, at `/mcp`. */
  readonly mcp?: McpDoor;
  /** `off` accepts everyone as the local user; `startApi` refuses that on a public address. */
  readonly keys: KeyStore | 'off';
  /** Dashboard sessions, and the login links. */
  readonly logins?: Logins;
  /** Folder of the dashboard's built files. */
  readonly dashboardFolder?: string;
  /** Folder of the built documentation. */
  readonly siteFolder?: string;
  readonly log: Logger;
  /** Geode's version. */
  readonly version: string;
  /** Asks this host to end for another one, on its socket only. False while it has work. */
  readonly leave?: () => boolean;
}

export interface ApiOptions {
  /**
   * How callers are identified. `keys`: the user of the key. `socket`: the local user, who runs this host, may do
   * everything and may act for any user; only for a socket that nobody else can connect to. `tools`: the user that
   * the host names, for tools in sandboxes: without a server, and never as an operator.
   */
  readonly callers: 'keys' | 'socket' | 'tools';
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** The certificate; without it the server speaks plain HTTP. */
  readonly tls?: TlsFiles;
  /** Names of this server, besides localhost and IP addresses. */
  readonly allowedHosts: readonly string[];
  /** Origins of pages on other servers that may call this one from a browser. */
  readonly allowedOrigins: readonly string[];
  /** Requests of one key. */
  readonly rate: RateLimit;
  /** Requests that need a scope. */
  readonly scopeRates: Readonly<Partial<Record<Scope, RateLimit>>>;
  /** `admin`: only keys with this scope may read the metrics; `loopback`: programs on this machine need none. */
  readonly metrics: 'admin' | 'loopback';
  /** Attempts with a wrong key from one address. */
  readonly failureRate: RateLimit;
  readonly connections: number;
  /** Maximum connections of one key and of callers without one; a quarter each by default. */
  readonly connectionShares?: Partial<ConnectionLimits>;
  /** Maximum time for a client to send its headers, and its whole request. */
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** How long requests in progress may continue after `stop`. */
  readonly stopTimeoutMs: number;
}

export const defaultApiOptions: ApiOptions = {
  callers: 'keys',
  host: '127.0.0.1',
  port: 4430,
  allowedHosts: [],
  allowedOrigins: [],
  rate: { perMinute: 6000, burst: 1000 },
  scopeRates: {},
  metrics: 'admin',
  failureRate: { perMinute: 30, burst: 30 },
  connections: 1024,
  headersTimeoutMs: 5_000,
  requestTimeoutMs: 600_000,
  stopTimeoutMs: 10_000,
};

export interface Caller {
  readonly user: User;
  readonly keyId: string;
  readonly scopes: readonly Scope[];
  /** `anyone`: the operator of the host, on its own socket. */
  readonly actsFor: 'self' | 'anyone';
}

export interface Upgrade {
  /** Turns the request into a conversation, handled from its first to its last message. */
  accept(lead: (conversation: SocketConversation) => Promise<void>): void;
}

/** Hands over the connection of a request that asks for a WebSocket, as it is, to a server in a sandbox. */
export type TakeOver = (lead: (client: Duplex, head: Buffer) => Promise<void>) => void;

export interface ApiEnv {
  /** `upgrade` and `takeOver`: the request asks for a WebSocket. `reach`: the host itself calls, for a program in that sandbox. */
  Bindings: HttpBindings & { upgrade?: Upgrade; takeOver?: TakeOver; reach?: ToolReach };
  Variables: {
    /** Fires when the server stops. */
    stopping: AbortSignal;
    requestId: string;
    log: Logger;
    caller: Caller;
    /** Counts a request that needs the scope. Throws `rate_limited` if there were too many. */
    spendScope: (scope: Scope) => void;
    /** The maximum limits of the caller's sandboxes; empty for callers with the scope `admin`. */
    mostLimits: Limits;
    /** The caller's own namespace: the only memory that a route can reach. */
    memory: Memory;
    /** Secrets of the caller that must not appear in results. */
    secretValues: () => readonly string[];
    /** The caller's own sandboxes: the only ones that a route can reach. */
    sandboxes: UserSandboxes;
  };
}
