/**
 * One sandbox, with the library's interface `PersistentSandbox`, over HTTP. Sends no request until a method is
 * called.
 */

import type { Cancel } from '../base/cancel.ts';
import { bytesOf, wireBytes } from '../contract/encoding.ts';
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
import type { ApiConnection } from './send.ts';
import { type RemoteSnapshots, remoteSnapshots } from './snapshots.ts';
import { type Opening, openSocketProcess, type SocketProcess } from './socket-process.ts';
import { type RemoteSandboxTools, remoteSandboxTools } from './tools.ts';

/** Stdin is sent with the command; longer input is written to a process over its own connection. */
export interface RemoteCommand extends Omit<Command, 'stdin' | 'files' | 'sole' | 'opening'> {
  readonly stdin?: string | Uint8Array;
  /** Records the files first, so that an undo restores them. */
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
  /** Starts a process that continues when the caller disconnects. */
  spawn(command: RemoteCommand, options?: Cancel): Promise<RemoteProcess & { readonly sandboxId: string }>;
  /** Runs over one connection, at the speed of its reader. Ends with the connection unless `onDisconnect` is `leave`. */
  run(
    command: RemoteCommand,
    options?: { readonly onDisconnect?: 'kill' | 'leave' } & Omit<Opening, 'wantsScreen'>,
  ): Promise<SocketProcess>;
  /**
   * A URL on the host's machine for this port of the sandbox, until the sandbox stops; anyone with the URL has
   * access. Use the form `path` where names below localhost do not work; its pages have no origin and no cookies.
   */
  preview(port: number, options?: { readonly form?: 'name' | 'path' } & Cancel): Promise<string>;
  processes(options?: Cancel): Promise<ProcessList>;
  attach(processId: string, options?: { readonly from?: number } & Cancel): Promise<RemoteProcess>;
  /** Joins over one connection. With a size, its terminal gets that size and its screen is sent first. */
  join(
    processId: string,
    options?: { readonly from?: number; readonly size?: TerminalSize } & Omit<Opening, 'wantsScreen'>,
  ): Promise<SocketProcess>;
  signal(processId: string, name: SignalName, options?: { readonly tree?: boolean } & Cancel): Promise<void>;
  usage(options?: { readonly everyMs?: number } & Cancel): AsyncGenerator<Usage>;
}

export function remoteSandbox(connection: ApiConnection, chat: string): RemoteSandbox {
  const calls = callsOf(connection, 'sandboxes');
  const processes = callsOf(connection, 'processes');
  const sockets = callsOf(connection, 'sockets');
  return {
    chat,
    files: remoteFiles(connection, chat, 'workspace'),
    rootFiles: remoteFiles(connection, chat, 'root'),
    snapshots: remoteSnapshots(connection, chat),
    journals: remoteJournals(connection, chat),
    egress: remoteSandboxEgress(connection, chat),
    tools: remoteSandboxTools(connection, chat),
    async exec(command, { outputLimitBytes, signal } = {}) {
      const asked = { ...commandBody(command), outputLimitBytes };
      return withBytes(await processes.exec(chat, asked, { signal }));
    },
    async spawn(command, cancel) {
      const { sandbox, ...started } = await processes.spawn(chat, commandBody(command), cancel);
      return { ...remoteProcess(connection, chat, started), sandboxId: sandbox };
    },
    run: (command, { onDisconnect = 'kill', ...opening } = {}) =>
      openSocketProcess(
        (cancel) => sockets.exec(chat, { type: 'exec', ...commandBody(command), onDisconnect }, cancel),
        opening,
      ),
    async preview(port, { form = 'name', signal } = {}) {
      const made = await calls.preview(chat, { port }, { signal });
      return form === 'path' ? made.pathUrl : made.url;
    },
    processes: (cancel) => processes.list(chat, cancel),
    async attach(processId, { from = 0, signal } = {}) {
      const { processes } = await this.processes({ signal });
      const pid = processes.find(({ id }) => id === processId)?.pid ?? 0;
      return remoteProcess(connection, chat, { id: processId, pid, from });
    },
    join: (processId, { from, size, ...opening } = {}) =>
      openSocketProcess((cancel) => sockets.join(chat, processId, { from, ...size, ...cancel }), {
        wantsScreen: size !== undefined,
        ...opening,
      }),
    signal: (processId, name, { tree = false, signal } = {}) =>
      processes.signal(chat, processId, { signal: name, tree }, { signal }),
    async *usage({ everyMs = 1000, signal } = {}) {
      for await (const event of calls.usage(chat, { everyMs, signal })) {
        if (event.type === 'end') return;
        const { type: _, ...usage } = event;
        yield usage;
      }
    },
  };
}

/** The command as its operation takes it. */
export function commandBody({ stdin, ...command }: RemoteCommand) {
  return { ...command, ...(stdin !== undefined && { stdin: contentBody(stdin) }) };
}

export function contentBody(content: string | Uint8Array) {
  return typeof content === 'string' ? { text: content } : wireBytes(content);
}

interface CommandBytes {
  readonly stdout: string;
  readonly stderr: string;
  readonly stdoutBase64?: string;
  readonly stderrBase64?: string;
}

/** A result with the bytes of its output, which are sent beside the text where that is not all of them. */
export function withBytes<T extends CommandBytes>({ stdoutBase64, stderrBase64, ...result }: T) {
  const bytes = (text: string, base64: string | undefined) => bytesOf({ text, base64 });
  return {
    ...result,
    bytes: { stdout: bytes(result.stdout, stdoutBase64), stderr: bytes(result.stderr, stderrBase64) },
  };
}

export type { Usage };
