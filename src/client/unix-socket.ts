/**
 * A WebSocket over a Unix socket, with only the features that the client needs: the usual libraries take longer to
 * load than a command takes. The server is a host of this machine, so frames are masked with zeros.
 */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { Cancel } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import { parsedJson } from '../base/json.ts';
import { socketProtocol } from '../contract/frames.ts';
import { problemError } from './send.ts';
import type { ClientSocket } from './transport.ts';
import { requestOver, type UnixAnswer } from './unix-http.ts';

/** Resolves when the conversation may start; throws the server's error if it refuses. */
export async function openUnixSocket(
  socketPath: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  { signal }: Cancel = {},
): Promise<ClientSocket> {
  const answer = await requestOver(socketPath, {
    method: 'GET',
    path,
    headers: {
      ...headers,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      // The key shows proxies that the answer is fresh; a Unix socket has no proxies.
      'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
      'sec-websocket-protocol': socketProtocol,
    },
    // A connection to a hanging host must not keep this process alive.
    signal,
  });
  if (answer.upgraded === undefined) throw await refusalOf(answer);
  return new UnixSocket(answer.upgraded.socket, answer.upgraded.head);
}

async function refusalOf({ status, body }: UnixAnswer): Promise<GeodeError> {
  const pieces: Buffer[] = [];
  for await (const piece of body) pieces.push(piece);
  const problem = problemError(parsedJson(Buffer.concat(pieces).toString()));
  return problem ?? new GeodeError('server_unreachable', `The server answered ${status}`);
}

const kinds = { more: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
const abnormalClose = 1006;

interface Frame {
  readonly kind: number;
  readonly isLast: boolean;
  readonly bytes: Buffer;
  readonly size: number;
}

class UnixSocket implements ClientSocket {
  readonly readyState = 1;
  readonly #socket: Socket;
  readonly #events = new EventEmitter();
  #waiting: Buffer[];
  #parts: Buffer[] = [];
  #partKind: number = kinds.binary;
  #code = abnormalClose;

  constructor(socket: Socket, head: Buffer) {
    this.#socket = socket;
    this.#waiting = [head];
    socket.pause();
    // Every failure closes the connection, and the close event is emitted.
    socket.on('error', () => {});
    socket.on('data', (piece: Buffer) => this.#take(piece));
    socket.on('end', () => socket.end());
    socket.on('close', () => this.#events.emit('close', { code: this.#code }));
  }

  get bufferedAmount(): number {
    return this.#socket.writableLength;
  }

  send(data: string | Uint8Array): void {
    this.#write(typeof data === 'string' ? kinds.text : kinds.binary, Buffer.from(data));
  }

  close(): void {
    if (this.#socket.destroyed) return;
    this.#write(kinds.close, Buffer.from([3, 232]));
    this.#socket.destroySoon();
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  addEventListener(
    type: string,
    listener: (event: { readonly data: unknown; readonly code: number }) => void,
  ): void {
    this.#events.on(type, listener);
    if (type !== 'message') return;
    // There were no listeners before.
    this.#socket.resume();
    queueMicrotask(() => this.#take(Buffer.alloc(0)));
  }

  #take(piece: Buffer): void {
    if (piece.length > 0) this.#waiting.push(piece);
    for (;;) {
      const bytes = this.#waiting.length === 1 ? this.#waiting[0] : Buffer.concat(this.#waiting);
      if (bytes === undefined) return;
      const frame = frameIn(bytes);
      this.#waiting = [frame === undefined ? bytes : bytes.subarray(frame.size)];
      if (frame === undefined) return;
      this.#receive(frame);
    }
  }

  #receive({ kind, isLast, bytes }: Frame): void {
    if (kind === kinds.ping) this.#write(kinds.pong, bytes);
    else if (kind === kinds.close) {
      if (bytes.length >= 2) this.#code = bytes.readUInt16BE();
      this.close();
    } else if (kind !== kinds.pong) this.#collect(kind, isLast, bytes);
  }

  #collect(kind: number, isLast: boolean, bytes: Buffer): void {
    if (kind !== kinds.more) this.#partKind = kind;
    this.#parts.push(bytes);
    if (!isLast) return;
    const whole = this.#parts.length === 1 ? bytes : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#events.emit('message', { data: this.#partKind === kinds.text ? whole.toString() : whole });
  }

  #write(kind: number, bytes: Buffer): void {
    if (!this.#socket.writable) return;
    this.#socket.write(headOf(kind, bytes.length));
    this.#socket.write(bytes);
  }
}

const lengths = { short: 126, long: 127 } as const;
const maskBytes = 4;

/** Undefined while it is incomplete. */
function frameIn(bytes: Buffer): Frame | undefined {
  const [first, second] = bytes;
  if (first === undefined || second === undefined) return undefined;
  const lengthCode = second & 0x7f;
  const start = lengthCode === lengths.short ? 4 : lengthCode === lengths.long ? 10 : 2;
  if (bytes.length < start) return undefined;
  const length =
    lengthCode === lengths.short
      ? bytes.readUInt16BE(2)
      : lengthCode === lengths.long
        ? Number(bytes.readBigUInt64BE(2))
        : lengthCode;
  const size = start + length;
  if (bytes.length < size) return undefined;
  return { kind: first & 0x0f, isLast: (first & 0x80) !== 0, bytes: bytes.subarray(start, size), size };
}

/** With a zero mask, which changes nothing. */
function headOf(kind: number, length: number): Buffer {
  const isLong = length > 0xffff;
  const extra = length < lengths.short ? 0 : isLong ? 8 : 2;
  const head = Buffer.alloc(2 + extra + maskBytes);
  head[0] = 0x80 | kind;
  head[1] = 0x80 | (extra === 0 ? length : isLong ? lengths.long : lengths.short);
  if (extra === 2) head.writeUInt16BE(length, 2);
  else if (extra === 8) head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}
