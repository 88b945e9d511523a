/**
 * A WebSocket as a conversation. Messages are handled one at a time, and a sender that is faster than its reader
 * waits, on both sides. A peer that does not answer a ping in time is disconnected.
 */
import { EventEmitter, once } from 'node:events';
import { WebSocket } from 'ws';
import type { ZodType } from 'zod';
import { onAbort } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import { parsedJson } from '../base/json.ts';

export type Message =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'bytes'; readonly bytes: Uint8Array };

/** Maximum bytes on their way to a slow reader before the sender waits. */
const mostAheadBytes = 256 * 1024;
/** Maximum unread messages before the peer is paused. */
const mostWaiting = 16;
const pingMs = 20_000;
const closeDeadlineMs = 5_000;

export class SocketConversation {
  readonly #socket: WebSocket;
  readonly #left = new AbortController();
  readonly #waiting: Message[] = [];
  readonly #arrived = new EventEmitter();
  readonly #ping: NodeJS.Timeout;
  #answered = true;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data: Buffer, isBinary) => this.#take(data, isBinary));
    socket.on('pong', () => {
      this.#answered = true;
    });
    // The close event that follows an error has all the details.
    socket.on('error', () => {});
    socket.on('close', () => this.#end());
    this.#ping = setInterval(() => this.#ask(), pingMs);
  }

  /** Fires when the peer has gone. */
  get signal(): AbortSignal {
    return this.#left.signal;
  }

  /** The messages of the peer until it leaves. Only one reader at a time. */
  async *messages(): AsyncGenerator<Message> {
    while (this.#waiting.length > 0 || !this.signal.aborted) {
      const next = this.#waiting.shift();
      if (this.#waiting.length < mostWaiting) this.#socket.resume();
      if (next !== undefined) yield next;
      else if (!this.signal.aborted) await once(this.#arrived, 'change');
    }
  }

  /** The next message, checked against the schema; undefined if the peer leaves first. */
  async first<T>(schema: ZodType<T>): Promise<T | undefined> {
    for await (const message of this.messages()) return parseMessage(schema, message);
    return undefined;
  }

  async send(message: unknown): Promise<void> {
    await this.#send(JSON.stringify(message));
  }

  /** Bytes of a stream, with a first byte that identifies the stream. */
  async write(stream: number, bytes: Uint8Array): Promise<void> {
    await this.#send(Buffer.concat([Buffer.of(stream), bytes]));
  }

  /** Bytes alone, for the doors of other protocols. */
  async sendBytes(bytes: Uint8Array): Promise<void> {
    await this.#send(Buffer.from(bytes));
  }

  async close(code: number, reason: string): Promise<void> {
    if (this.signal.aborted) return;
    const cut = setTimeout(() => this.#socket.terminate(), closeDeadlineMs);
    const closed = once(this.#socket, 'close');
    this.#socket.close(code, reason);
    // If nobody reads the peer's messages, its goodbye would not be read either.
    this.#socket.resume();
    await closed;
    clearTimeout(cut);
  }

  async #send(data: string | Buffer): Promise<void> {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#socket.send(data, () => resolve());
    if (this.#socket.bufferedAmount <= mostAheadBytes) return;
    using _watching = onAbort(this.signal, resolve);
    await promise;
  }

  #take(data: Buffer, isBinary: boolean): void {
    this.#waiting.push(isBinary ? { type: 'bytes', bytes: data } : { type: 'text', text: data.toString() });
    if (this.#waiting.length >= mostWaiting) this.#socket.pause();
    this.#arrived.emit('change');
  }

  #ask(): void {
    // While its messages are not read, its pong cannot be seen.
    if (this.#socket.isPaused) return;
    if (!this.#answered) {
      this.#socket.terminate();
      return;
    }
    this.#answered = false;
    this.#socket.ping();
  }

  #end(): void {
    clearInterval(this.#ping);
    this.#left.abort();
    this.#arrived.emit('change');
  }
}

export function parseMessage<T>(schema: ZodType<T>, message: Message): T {
  if (message.type === 'bytes')
    throw new GeodeError('invalid_input', 'Received a binary message instead of JSON');
  const { data, error } = schema.safeParse(parsedJson(message.text));
  if (error === undefined) return data;
  const [issue] = error.issues;
  throw new GeodeError(
    'invalid_input',
    `${issue?.path.join('.') || 'message'}: ${issue?.message ?? 'is not valid'}`,
  );
}
