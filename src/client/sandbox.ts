/** One sandbox, as the library's own `PersistentSandbox`, over HTTP. Nothing is asked until something is called. */

import type { Cancel } from '../base/cancel.ts';
import { chatSegment, wireBytes } from '../contract/encoding.ts';
import { fromWire, toWire, type Wire } from '../contract/old-names.ts';
import type { WireExecResult, WireStarted } from '../contract/processes.ts';
import type { Usage } from '../sandboxes/metrics.ts';
import type {
  Command,
  ExecOptions,
  ExecResult,
  ProcessList,
  SignalName,
  TerminalSize,
} from '../seams/process.ts';
import { callsOf } from './calls.ts';
import { type RemoteSandboxEgress, remoteSandboxEgress } from './egress.ts';
import { type RemoteFiles, remoteFiles } from './files.ts';
import { type RemoteJournals, remoteJournals } from './journals.ts';
import { type RemoteProcess, remoteProcess } from './process.ts';
import { ask, type Connection, queryText, send } from './send.ts';
import { type RemoteSnapshots, remoteSnapshots } from './snapshots.ts';
import { type Opening, openSocketProcess, type SocketProcess } from './socket-process.ts';
import { type RemoteSandboxTools, remoteSandboxTools } from './tools.ts';

/** Stdin is sent with the command; what is longer is written to a process over its own connection. */
export interface RemoteCommand extends Omit<Command, 'stdin' | 'files' | 'sole' | 'opening'> {
  readonly stdin?: string | Uint8Array;
  /** Keeps the files as they are before, so that an undo takes back what it changes. */
  readonly undoable?: boolean;
}

export interface RemoteSandbox {
  readonly chat: string;
  /** Paths of these cannot leave the workspace. */
  readonly files: RemoteFiles;
  readonly rootFiles: RemoteFiles;
  readonly snapshots: RemoteSnapshots;
  readonly journals: RemoteJournals;
  /** The network policy. */
  readonly egress: RemoteSandboxEgress;
  /** Tools of the host for the programs in it. */
  readonly tools: RemoteSandboxTools;
  exec(command: Omit<RemoteCommand, 'interactive'>, options?: ExecOptions): Promise<ExecResult>;
  /** Goes on without its caller. */
  spawn(command: RemoteCommand, options?: Cancel): Promise<RemoteProcess & { readonly sandboxId: string }>;
  /** Over one connection, in step with its reader; ends with the connection unless told otherwise. */
  run(
    command: RemoteCommand,
    options?: { readonly onDisconnect?: 'kill' | 'leave' } & Omit<Opening, 'wantsScreen'>,
  ): Promise<SocketProcess>;
  /**
   * A URL on the machine of the host that opens this port until the sandbox stops; the URL itself gives access. The form
   * `path` is for where names below localhost do not work; its pages have no origin and no cookies.
   */
  preview(port: number, options?: { readonly form?: 'name' | 'path' } & Cancel): Promise<string>;
  processes(options?: Cancel): Promise<ProcessList>;
  attach(processId: string, options?: { readonly from?: number } & Cancel): Promise<RemoteProcess>;
  /** Joins over one connection; with a size, its terminal gets that size and its screen comes first. */
  join(
    processId: string,
    options?: { readonly from?: number; readonly size?: TerminalSize } & Omit<Opening, 'wantsScreen'>,
  ): Promise<SocketProcess>;
  signal(processId: string, name: SignalName, options?: { readonly tree?: boolean } & Cancel): Promise<void>;
  usage(options?: { readonly everyMs?: number } & Cancel): AsyncGenerator<Usage>;
}

function sandboxPath(chat: string): string {
  return `/api/v1/sandboxes/${chatSegment(chat)}`;
}

export function remoteSandbox(connection: Connection, chat: string): RemoteSandbox {
  const path = sandboxPath(chat);
  const calls = callsOf(connection, 'sandboxes');
  return {
    chat,
    files: remoteFiles(connection, path, 'workspace'),
    rootFiles: remoteFiles(connection, path, 'root'),
    snapshots: remoteSnapshots(connection, chat),
    journals: remoteJournals(connection, path),
    egress: remoteSandboxEgress(connection, path),
    tools: remoteSandboxTools(connection, chat),
    async exec(command, { outputLimitBytes, signal } = {}) {
      const json = { ...wireCommand(command), output_limit_bytes: outputLimitBytes };
      return execResult(await ask<WireExecResult>(connection, 'POST', `${path}/exec`, { json, signal }));
    },
    async spawn(command, { signal } = {}) {
      const json = wireCommand(command);
      const started = await ask<WireStarted>(connection, 'POST', `${path}/processes`, {
        json,
        signal,
      });
      return { ...remoteProcess(connection, path, started), sandboxId: started.sandbox };
    },
    run: (command, { onDisconnect = 'kill', ...opening } = {}) =>
      openSocketProcess(
        connection,
        `${path}/exec`,
        { type: 'exec', ...wireCommand(command), on_disconnect: onDisconnect },
        opening,
      ),
    async preview(port, { form = 'name', signal } = {}) {
      const made = await calls.preview(chat, { port }, { signal });
      return form === 'path' ? made.pathUrl : made.url;
    },
    async processes({ signal } = {}) {
      return fromWire(await ask<Wire<ProcessList>>(connection, 'GET', `${path}/processes`, { signal }));
    },
    async attach(processId, { from = 0, signal } = {}) {
      const { processes } = await this.processes({ signal });
      const pid = processes.find(({ id }) => id === processId)?.pid ?? 0;
      return remoteProcess(connection, path, { id: processId, pid, from });
    },
    join(processId, { from, size, ...opening } = {}) {
      const query = queryText({ from, ...(size && { columns: size.columns, rows: size.rows }) });
      const where = `${path}/processes/${encodeURIComponent(processId)}/socket${query}`;
      return openSocketProcess(connection, where, undefined, { wantsScreen: size !== undefined, ...opening });
    },
    async signal(processId, name, { tree = false, signal } = {}) {
      const where = `${path}/processes/${encodeURIComponent(processId)}/signal`;
      await send(connection, 'POST', where, { json: { signal: name, tree }, signal });
    },
    async *usage({ everyMs = 1000, signal } = {}) {
      for await (const event of calls.usage(chat, { everyMs, signal })) {
        if (event.type === 'end') return;
        const { type: _, ...usage } = event;
        yield usage;
      }
    },
  };
}

export function wireCommand({ stdin, ...command }: RemoteCommand) {
  const bytes = typeof stdin === 'string' ? { text: stdin } : stdin && wireBytes(stdin);
  return { ...toWire(command), ...(bytes !== undefined && { stdin: bytes }) };
}

function execResult({ stdout_base64, stderr_base64, ...wire }: WireExecResult): ExecResult {
  const result = fromWire(wire);
  const bytes = (text: string, base64: string | undefined) =>
    base64 === undefined
      ? new TextEncoder().encode(text)
      : Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return {
    ...result,
    bytes: { stdout: bytes(result.stdout, stdout_base64), stderr: bytes(result.stderr, stderr_base64) },
  };
}

export type { Usage };
