/**
 * Geode's API for TypeScript, in Node and browsers: it only needs `fetch` and `WebSocket`. Each failure is a
 * `GeodeError` with the server's code and hint.
 */
import { type RemoteAgents, remoteAgents } from './agents.ts';
import { type RemoteApprovals, remoteApprovals } from './approvals.ts';
import { type RemoteBackups, remoteBackups } from './backups.ts';
import { type RemoteChats, remoteChats } from './chats.ts';
import { type RemoteContexts, remoteContexts } from './contexts.ts';
import { type RemoteEgress, type RemoteSecrets, remoteEgress, remoteSecrets } from './egress.ts';
import { type RemoteHost, remoteHost } from './host.ts';
import { type RemoteImages, remoteImages } from './images.ts';
import { type RemoteMemory, remoteMemory } from './memory.ts';
import { type RemoteProviders, remoteProviders } from './providers.ts';
import { type RemoteRuns, remoteRuns } from './runs.ts';
import { type RemoteSandboxes, remoteSandboxes } from './sandboxes.ts';
import type { ApiConnection } from './send.ts';
import { type RemoteSolves, remoteSolves } from './solve.ts';
import { type RemoteTools, remoteTools } from './tools.ts';
import { httpTransport, type Target, type Transport } from './transport.ts';
import { type RemoteTurns, remoteTurns } from './turns.ts';
import { type RemoteWebhooks, remoteWebhooks } from './webhooks.ts';

export { GeodeError, isGeodeError } from '../base/errors.ts';
export type { RemoteAgents } from './agents.ts';
export type { RemoteApprovals } from './approvals.ts';
export type { ContextSpec, RemoteContext } from './contexts.ts';
export type {
  EgressLogQuery,
  EgressRequest,
  RemoteEgress,
  RemoteSandboxEgress,
  RemoteSecrets,
} from './egress.ts';
export type { RemoteFiles } from './files.ts';
export type { RemoteKeys, RemoteRuntime } from './host.ts';
export type { RemoteImages } from './images.ts';
export type { RemoteJournals } from './journals.ts';
export type { FileOptions, ListOptions, SearchOptions } from './memory.ts';
export type { RemoteProcess } from './process.ts';
export type { FreshSandbox, LiveRunOptions } from './run-socket.ts';
export type { RemoteRunEvent, RemoteRunOptions, RemoteRunResult } from './runs.ts';
export type { RemoteCommand, RemoteSandbox } from './sandbox.ts';
export type { RemoteSandboxSpec } from './sandboxes.ts';
export type { RemoteSnapshots } from './snapshots.ts';
export type { SocketProcess } from './socket-process.ts';
export type { RemoteCrystal, RemoteCrystalChange, RemoteSolve, RemoteSolveRequest } from './solve.ts';
export type { RemoteSandboxTools, RemoteTools } from './tools.ts';
export type { RemoteTurns } from './turns.ts';
export type { RemoteWebhooks } from './webhooks.ts';

export interface GeodeClient extends RemoteMemory, RemoteHost {
  readonly sandboxes: RemoteSandboxes;
  readonly solves: RemoteSolves;
  readonly runs: RemoteRuns;
  readonly contexts: RemoteContexts;
  /** Network requests of the user's sandboxes and runs, and model costs. */
  readonly egress: RemoteEgress;
  readonly secrets: RemoteSecrets;
  /** Tools of the host for programs in sandboxes; a sandbox's own are at `sandboxes.of(chat).tools`. */
  readonly tools: RemoteTools;
  /** Geode's own images, built by the host's engine. */
  readonly images: RemoteImages;
  /** Chats with agents, on every channel. */
  readonly chats: RemoteChats;
  /** Conversations with agents in sandboxes. */
  readonly agents: RemoteAgents;
  /** Recorded turns of agents, and their replays. */
  readonly turns: RemoteTurns;
  readonly backups: RemoteBackups;
  readonly providers: RemoteProviders;
  readonly webhooks: RemoteWebhooks;
  /** Requests that wait for the user's decision. */
  readonly approvals: RemoteApprovals;
  /** A client of this host that acts for another user: only for the operator, on the host's own socket. */
  as(user: string): GeodeClient;
}

/** Over TCP with a key, or over any transport: `unixTransport` of `geode/client/unix` reaches a host on this machine. */
export function createClient(target: Target | Transport): GeodeClient {
  return clientOf({ transport: 'fetch' in target ? target : httpTransport(target), headers: {} });
}

function clientOf(connection: ApiConnection): GeodeClient {
  return {
    ...remoteMemory(connection),
    ...remoteHost(connection),
    runs: remoteRuns(connection),
    contexts: remoteContexts(connection),
    sandboxes: remoteSandboxes(connection),
    solves: remoteSolves(connection),
    egress: remoteEgress(connection),
    secrets: remoteSecrets(connection),
    tools: remoteTools(connection),
    images: remoteImages(connection),
    agents: remoteAgents(connection),
    turns: remoteTurns(connection),
    chats: remoteChats(connection),
    approvals: remoteApprovals(connection),
    backups: remoteBackups(connection),
    providers: remoteProviders(connection),
    webhooks: remoteWebhooks(connection),
    as: (user) =>
      clientOf({ ...connection, headers: { ...connection.headers, 'geode-user': encodeURIComponent(user) } }),
  };
}
