/** A process over a WebSocket: input and output in one connection, and each side waits for the other. */

import type { Cancel } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import { streamBytes } from '../contract/frames.ts';
import { fromWire } from '../contract/old-names.ts';
import type { Denial } from '../seams/egress.ts';
import type { ExitFacts, Process, ProcessEvent, TerminalSize } from '../seams/process.ts';
import type { PullEvent } from '../seams/run.ts';
import type { Grade } from '../seams/sandbox.ts';
import { pause } from './events.ts';
import { type Connection, parseJson, problemError } from './send.ts';
import type { ClientSocket } from './transport.ts';

/** A process that is talked to over one connection. Leaving the loop ends the connection. */
export interface SocketProcess extends Process {
  /** The screen of its terminal, where it was asked for: the text that draws it, and where its output goes on. */
  readonly screen?: { readonly size: TerminalSize; readonly content: Uint8Array; readonly offset: number };
  /** Where it runs. */
  readonly sandbox: ProcessPlace;
  /** Network requests refused to its sandbox while it ran; known at its exit. */
  denied(): readonly Denial[];
  /** Ends the connection; what becomes of the process was said when it was started. */
  close(): void;
}

interface ProcessPlace {
  readonly id: string;
  readonly runtime: string;
  readonly grade: Grade;
  /** Whether what it may reach is enforced; left out where there is no policy. */
  readonly hatch?: 'enforced' | 'advice';
}

export interface Opening extends Cancel {
  readonly wantsScreen?: boolean;
  /** Cancels only until the process has started; after that its caller decides when it ends. */
  readonly opening?: AbortSignal | undefined;
  /** How far the pull of its image is. */
  readonly onPull?: (event: PullEvent) => void;
}

export type ServerMessage = { readonly type: string } & Readonly<Record<string, unknown>>;

/** Maximum bytes that may wait here before a writer is paused. */
const mostAheadBytes = 1024 ** 2;
const drainMs = 5;

export async function openSocketProcess(
  { transport, headers }: Connection,
  path: string,
  first: object | undefined,
  { wantsScreen = false, signal, opening, onPull = () => {} }: Opening,
): Promise<SocketProcess> {
  const stop = opening ?? signal;
  if (stop?.aborted) throw cancelled(stop);
  const socket = await transport.connect(path, headers);
  const inbox = new Inbox(socket, transport.name);
  const leave = () => socket.close();
  stop?.addEventListener('abort', leave, { once: true });
  try {
    await inbox.opened;
    if (stop?.aborted) throw cancelled(stop);
    if (first !== undefined) socket.send(JSON.stringify(first));
    const { id, pid, offset, sandbox } = await expectMessage(inbox, 'process', onPull);
    const screen = wantsScreen ? await readScreen(inbox) : undefined;
    const from = screen?.offset ?? Number(offset);
    opening?.removeEventListener('abort', leave);
    return {
      ...handle(socket, inbox, { id: String(id), pid: Number(pid), from }, signal),
      sandbox: fromWire(sandbox) as ProcessPlace,
      ...(screen !== undefined && { screen }),
    };
  } catch (error) {
    socket.close();
    stop?.removeEventListener('abort', leave);
    throw stop?.aborted ? cancelled(stop) : error;
  }
}

function handle(
  socket: ClientSocket,
  inbox: Inbox,
  { id, pid, from }: { readonly id: string; readonly pid: number; readonly from: number },
  signal: AbortSignal | undefined,
): Omit<SocketProcess, 'screen' | 'sandbox'> {
  let denied: readonly Denial[] = [];
  const send = async (message: object) => socket.send(JSON.stringify(message));
  return {
    id,
    pid,
    close: () => socket.close(),
    denied: () => denied,
    async write(bytes) {
      if (inbox.closed) throw new GeodeError('process_not_found', `Process ${id} has ended.`);
      socket.send(typeof bytes === 'string' ? new TextEncoder().encode(bytes) : new Uint8Array(bytes));
      while (socket.bufferedAmount > mostAheadBytes && !inbox.closed) await pause(drainMs, signal);
    },
    closeStdin: () => send({ type: 'stdin-close' }),
    signal: (name) => send({ type: 'signal', signal: name }),
    kill: () => send({ type: 'signal', signal: 'SIGKILL', tree: true }),
    resize: ({ columns, rows }) => send({ type: 'resize', columns, rows }),
    async *[Symbol.asyncIterator](): AsyncGenerator<ProcessEvent> {
      let offset = from;
      try {
        for (;;) {
          const message = await inbox.next();
          if (message === undefined) throw signal?.aborted ? cancelled(signal) : inbox.lost();
          const event = eventOf(message, offset);
          if ('denied' in message) denied = deniedIn(message.denied);
          if (event.type !== 'exit')
            offset = event.offset + (event.type === 'output-lost' ? event.length : event.bytes.length);
          yield event;
          if (event.type === 'exit') return;
        }
      } finally {
        socket.close();
      }
    },
  };
}

function eventOf(message: ServerMessage | Uint8Array, offset: number): ProcessEvent {
  if (message instanceof Uint8Array) {
    const type = message[0] === streamBytes.stderr ? 'stderr' : 'stdout';
    return { type, offset, bytes: message.subarray(1) };
  }
  if (message.type === 'output-lost')
    return { type: 'output-lost', offset: Number(message.offset), length: Number(message.length) };
  if (message.type === 'exit') return { ...exitFacts(message), type: 'exit' };
  throw problemError(message) ?? new GeodeError('internal', `The server said ${message.type}`);
}

function exitFacts(message: ServerMessage): ExitFacts {
  const { exitCode, signal, timedOut, oomKilled, durationMs } = fromWire(message) as Record<string, unknown>;
  return {
    exitCode: typeof exitCode === 'number' ? exitCode : null,
    signal: typeof signal === 'string' ? signal : null,
    timedOut: timedOut === true,
    oomKilled: oomKilled === true,
    durationMs: Number(durationMs),
  };
}

/** Parses the refusals sent by the server. */
function deniedIn(denied: unknown): readonly Denial[] {
  return Array.isArray(denied) ? denied.map((each) => fromWire(each) as Denial) : [];
}

function pullIn({ image, received_bytes, total_bytes, status }: ServerMessage): PullEvent {
  return {
    type: 'pull-progress',
    image: String(image),
    receivedBytes: Number(received_bytes),
    totalBytes: Number(total_bytes),
    status: String(status),
  };
}

async function expectMessage(
  inbox: Inbox,
  type: string,
  onPull = (_: PullEvent) => {},
): Promise<ServerMessage> {
  const message = await inbox.next();
  if (message === undefined) throw inbox.lost();
  if (!(message instanceof Uint8Array) && message.type === type) return message;
  if (!(message instanceof Uint8Array) && message.type === 'pull-progress') {
    onPull(pullIn(message));
    return expectMessage(inbox, type, onPull);
  }
  const problem = message instanceof Uint8Array ? undefined : problemError(message);
  throw problem ?? new GeodeError('internal', `The server did not say ${type}`);
}

async function readScreen(inbox: Inbox): Promise<NonNullable<SocketProcess['screen']>> {
  const { columns, rows, offset } = await expectMessage(inbox, 'screen');
  const content = await inbox.next();
  if (!(content instanceof Uint8Array)) throw inbox.lost();
  const size = { columns: Number(columns), rows: Number(rows) };
  return { size, content: content.subarray(1), offset: Number(offset) };
}

/** Maximum unread messages before the server is paused. */
const mostWaiting = 64;
/** The server ends the conversation because it stops, in good order. */
const stoppingCode = 1012;

/** Received messages that were not read yet. */
export class Inbox {
  readonly opened: Promise<void>;
  closed = false;
  readonly #socket: ClientSocket;
  #code = 0;
  readonly #messages: (ServerMessage | Uint8Array)[] = [];
  #wake: () => void = () => {};

  constructor(socket: ClientSocket, name: string) {
    this.#socket = socket;
    this.opened = new Promise((resolve, reject) => {
      if (socket.readyState === 1) resolve();
      socket.addEventListener('open', resolve);
      socket.addEventListener('error', () =>
        reject(
          new GeodeError('server_unreachable', `${name} does not answer, or refuses the WebSocket`, {
            hint: 'Ask over plain HTTP to see why it refuses.',
          }),
        ),
      );
    });
    this.opened.catch(() => {});
    socket.addEventListener('message', ({ data }) => {
      this.#messages.push(messageOf(data));
      if (this.#messages.length >= mostWaiting) socket.pause?.();
      this.#wake();
    });
    socket.addEventListener('close', ({ code }) => {
      this.closed = true;
      this.#code = code;
      this.#wake();
    });
  }

  /** Undefined when the connection has ended and everything is read. */
  async next(): Promise<ServerMessage | Uint8Array | undefined> {
    while (this.#messages.length === 0 && !this.closed) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const message = this.#messages.shift();
    if (this.#messages.length === 0) this.#socket.resume?.();
    return message;
  }

  /** Why nothing more comes. */
  lost(): GeodeError {
    return this.#code === stoppingCode
      ? new GeodeError('stopping', 'The host stops; what runs in its sandboxes goes on')
      : new GeodeError('host_lost', 'The host ended in the middle of this command');
  }
}

function messageOf(data: unknown): ServerMessage | Uint8Array {
  if (data instanceof Uint8Array) return data;
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  const parsed = typeof data === 'string' ? parseJson(data) : undefined;
  if (typeof parsed === 'object' && parsed !== null && 'type' in parsed && typeof parsed.type === 'string')
    return { ...parsed, type: parsed.type };
  throw new GeodeError('internal', 'The server sent an invalid message');
}

export function cancelled(signal: AbortSignal): GeodeError {
  return new GeodeError('cancelled', 'The command was cancelled', { cause: signal.reason });
}
