/** A conversation over a WebSocket: messages with their names as in code, and bytes. */

import { type Cancel, onAbort } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import { parsedJson } from '../base/json.ts';
import { type Free, fromWire, toWire } from '../contract/rename.ts';
import { pause } from './events.ts';
import { type ApiConnection, problemError } from './send.ts';
import type { ClientSocket } from './transport.ts';

export interface ClientTalk<Sent, Received> {
  readonly closed: boolean;
  /** Sends a message and converts its field names. Names chosen by the caller may only be in the first message. */
  send(message: Sent): void;
  /** Resolves when more may follow, or the conversation is over. */
  write(bytes: Uint8Array, options?: Cancel): Promise<void>;
  /** The next message. Throws the server's `problem`, and throws after the connection ended. */
  next(): Promise<Received | Uint8Array>;
  close(): void;
}

interface Beginning extends Cancel {
  /** The first message, as on the wire. */
  readonly first?: unknown;
  /** The names in received messages that are not renamed. */
  readonly free: Free | undefined;
}

/** Maximum bytes that may wait here before a writer is paused. */
const mostAheadBytes = 1024 ** 2;
const drainMs = 5;

export async function openTalk<Sent extends object, Received>(
  connection: ApiConnection,
  path: string,
  beginning: Beginning,
): Promise<ClientTalk<Sent, Received>>;
export async function openTalk(
  { transport, headers }: ApiConnection,
  path: string,
  { first, free, signal }: Beginning,
): Promise<ClientTalk<object, unknown>> {
  if (signal?.aborted) throw cancelled(signal);
  const socket = await transport.connect(path, headers);
  const inbox = new Inbox(socket, transport.name);
  const send = (message: unknown) => socket.send(JSON.stringify(message));
  {
    using _watching = onAbort(signal, () => socket.close());
    await inbox.opened.catch((error) => {
      throw signal?.aborted ? cancelled(signal) : error;
    });
    if (signal?.aborted) throw cancelled(signal);
  }
  if (first !== undefined) send(first);
  return {
    get closed() {
      return inbox.closed;
    },
    send: (message) => send(toWire(message)),
    async write(bytes, cancel = {}) {
      socket.send(new Uint8Array(bytes));
      while (socket.bufferedAmount > mostAheadBytes && !inbox.closed) await pause(drainMs, cancel.signal);
    },
    async next() {
      const message = await inbox.next();
      if (message === undefined) throw inbox.lost();
      if (message instanceof Uint8Array) return message;
      throwProblem(message);
      return fromWire(message, free);
    },
    close: () => socket.close(),
  };
}

function throwProblem(message: { readonly type: string }): void {
  if (message.type === 'problem')
    throw problemError(message) ?? new GeodeError('internal', 'The conversation failed');
}

/** Maximum unread messages before the server is paused. */
const mostWaiting = 64;
/** The server ends the conversation because it stops, in good order. */
const stoppingCode = 1012;

type Message = { readonly type: string };

/** Received messages that were not read yet. */
class Inbox {
  readonly opened: Promise<void>;
  closed = false;
  readonly #socket: ClientSocket;
  #code = 0;
  readonly #messages: (Message | Uint8Array)[] = [];
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
  async next(): Promise<Message | Uint8Array | undefined> {
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

function messageOf(data: unknown): Message | Uint8Array {
  if (data instanceof Uint8Array) return data;
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  const parsed = typeof data === 'string' ? parsedJson(data) : undefined;
  if (typeof parsed === 'object' && parsed !== null && 'type' in parsed && typeof parsed.type === 'string')
    return { ...parsed, type: parsed.type };
  throw new GeodeError('internal', 'The server sent an invalid message');
}

export function cancelled(signal: AbortSignal): GeodeError {
  return new GeodeError('cancelled', 'The command was cancelled', { cause: signal.reason });
}
