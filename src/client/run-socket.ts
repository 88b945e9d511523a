/** Code and commands that run once, each over one connection: input and output as they come. */
import { bytesOf, wireBytes } from '../contract/encoding.ts';
import { streamBytes } from '../contract/frames.ts';
import { fromWire, toWire } from '../contract/old-names.ts';
import type { WireRunEvent } from '../contract/runs.ts';
import type { EgressSpec } from '../seams/egress.ts';
import type { Limits } from '../seams/limits.ts';
import type { RuntimeName } from '../seams/runtime.ts';
import type { Grade } from '../seams/sandbox.ts';
import { type EgressRequest, wireEgress } from './egress.ts';
import type { RemoteRunEvent, RemoteRunOptions } from './runs.ts';
import type { RemoteCommand } from './sandbox.ts';
import { wireCommand } from './sandbox.ts';
import { type Connection, problemError } from './send.ts';
import { cancelled, Inbox, type Opening, openSocketProcess, type SocketProcess } from './socket-process.ts';
import type { ClientSocket } from './transport.ts';

export interface LiveRunOptions extends Omit<RemoteRunOptions, 'stdin'> {
  /** Read as the code reads it. */
  readonly stdin?: AsyncIterable<Uint8Array>;
}

/** A fresh sandbox for one command. */
export interface FreshSandbox {
  readonly runtime?: RuntimeName;
  readonly image?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly limits?: Limits;
  readonly minimumGrade?: Grade;
  readonly egress?: EgressSpec | EgressRequest;
}

export function execFresh(
  connection: Connection,
  { undoable: _, ...command }: RemoteCommand,
  { egress, ...sandbox }: FreshSandbox,
  opening: Opening,
): Promise<SocketProcess> {
  const wanted = { ...toWire(sandbox), ...(egress && { egress: wireEgress(egress) }) };
  const first = { type: 'exec', ...wireCommand(command), sandbox: wanted };
  return openSocketProcess(connection, '/api/v1/exec', first, opening);
}

/** Everything that happens, as it happens. Leaving the loop ends the run. */
export async function* runLive(
  { transport, headers }: Connection,
  code: string | Uint8Array,
  language: string,
  { stdin, files, egress, signal, ...options }: LiveRunOptions,
): AsyncGenerator<RemoteRunEvent> {
  if (signal?.aborted) throw cancelled(signal);
  const socket = await transport.connect('/api/v1/runs/socket', headers);
  const inbox = new Inbox(socket, transport.name);
  const leave = () => socket.close();
  signal?.addEventListener('abort', leave, { once: true });
  try {
    await inbox.opened;
    if (signal?.aborted) throw cancelled(signal);
    const content = ([path, given]: [string, string | Uint8Array]) => [path, wireContent(given)];
    socket.send(
      JSON.stringify({
        type: 'run',
        language,
        code: typeof code === 'string' ? code : wireBytes(code),
        ...toWire(options),
        ...(files && { files: Object.fromEntries(Object.entries(files).map(content)) }),
        ...(egress && { egress: wireEgress(egress) }),
        ...(stdin !== undefined && { interactive: true }),
      }),
    );
    // A stdin that fails has ended.
    if (stdin !== undefined) void sendStdin(socket, inbox, stdin).catch(() => {});
    for (;;) {
      const message = await inbox.next();
      if (message === undefined) throw signal?.aborted ? cancelled(signal) : inbox.lost();
      const event = message instanceof Uint8Array ? outputOf(message) : eventOf(message);
      yield event;
      if (event.type === 'end') return;
    }
  } finally {
    signal?.removeEventListener('abort', leave);
    socket.close();
  }
}

function wireContent(content: string | Uint8Array) {
  return typeof content === 'string' ? { text: content } : wireBytes(content);
}

function outputOf(message: Uint8Array): RemoteRunEvent {
  const type = message[0] === streamBytes.stderr ? 'stderr' : 'stdout';
  return { type, bytes: message.subarray(1) };
}

function eventOf(message: object): RemoteRunEvent {
  const problem = problemError(message);
  if (problem !== undefined) throw problem;
  const event = message as Exclude<WireRunEvent, { type: 'problem' | 'stdout' | 'stderr' }>;
  if (event.type === 'compile-output')
    return { type: event.type, stream: event.stream, bytes: bytesOf(event) };
  if (event.type === 'artifact') return { type: event.type, path: event.path, bytes: bytesOf(event) };
  return fromWire(event);
}

/** Maximum bytes that may wait here before reading of stdin pauses. */
const mostAheadBytes = 1024 ** 2;
const drainMs = 5;

async function sendStdin(
  socket: ClientSocket,
  inbox: Inbox,
  stdin: AsyncIterable<Uint8Array>,
): Promise<void> {
  try {
    for await (const piece of stdin) {
      if (inbox.closed) return;
      socket.send(new Uint8Array(piece));
      while (socket.bufferedAmount > mostAheadBytes && !inbox.closed)
        await new Promise((resolve) => setTimeout(resolve, drainMs));
    }
  } finally {
    if (!inbox.closed) socket.send(JSON.stringify({ type: 'stdin-close' }));
  }
}
