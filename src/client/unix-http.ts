/**
 * One HTTP/1.1 request over a Unix socket, and its answer. Loading `node:http` takes as long as starting Node, and
 * every command would wait for it. The server is a host of this machine, so little of HTTP is needed.
 */

import { connect, type Socket } from 'node:net';
import { drained } from '../base/drained.ts';
import { chunkedBody, cutOff, plainBody } from './unix-body.ts';

export interface UnixRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | ReadableStream<Uint8Array> | null;
  readonly signal?: AbortSignal | null | undefined;
}

export interface UnixAnswer {
  readonly status: number;
  /** Read once; leaving it closes the connection at once. An unread body does not keep this process alive. */
  readonly body: AsyncIterable<Buffer>;
  /** The connection itself after an upgrade, with the bytes after the head. */
  readonly upgraded?: { readonly socket: Socket; readonly head: Buffer };
}

const mostHeadBytes = 64 * 1024;
const endOfHead = '\r\n\r\n';

/** Rejects with the connection's error: `ECONNREFUSED`, `ENOENT`, `ECONNRESET`, or the abort. */
export async function requestOver(socketPath: string, request: UnixRequest): Promise<UnixAnswer> {
  const { signal } = request;
  const head = headText(request);
  if (signal?.aborted) throw aborted(signal);
  const socket = connect(socketPath);
  const stop = () => socket.destroy(signal ? aborted(signal) : undefined);
  signal?.addEventListener('abort', stop, { once: true });
  socket.once('close', () => signal?.removeEventListener('abort', stop));
  const answer = answerOn(socket);
  socket.write(head, 'latin1');
  // An answer, such as an error, may arrive before everything is sent; the rest of the body no longer matters then.
  void sendBody(socket, request.body ?? null).catch((error: Error) => socket.destroy(error));
  return answer;
}

function headText({ method, path, headers, body = null }: UnixRequest): string {
  const bytes = typeof body === 'string' ? Buffer.byteLength(body) : body === null ? 0 : undefined;
  const length = body instanceof Uint8Array ? body.length : bytes;
  const size =
    length === undefined ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(length) };
  const all = { host: 'localhost', connection: 'close', ...headers, ...(method === 'GET' ? {} : size) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  const text = [`${method} ${path} HTTP/1.1`, ...lines];
  // A line end would start another header.
  if (text.some((line) => /[^\t\x20-\x7e\x80-\xff]/.test(line)) || /\s/.test(path))
    throw new TypeError('A header or path of the request has characters that are not valid in HTTP');
  return `${text.join('\r\n')}${endOfHead}`;
}

async function sendBody(socket: Socket, body: UnixRequest['body']): Promise<void> {
  if (body === null || body === undefined) return;
  if (typeof body === 'string' || body instanceof Uint8Array) {
    socket.write(body);
    return;
  }
  for await (const piece of body) {
    if (piece.length === 0) continue;
    socket.write(`${piece.length.toString(16)}\r\n`);
    socket.write(piece);
    if (!socket.write('\r\n')) await drained(socket);
    if (socket.destroyed) return;
  }
  socket.write('0\r\n\r\n');
}

function answerOn(socket: Socket): Promise<UnixAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<UnixAnswer>();
  let received: Buffer = Buffer.alloc(0);
  const take = (piece: Buffer) => {
    received = received.length === 0 ? piece : Buffer.concat([received, piece]);
    const end = received.indexOf(endOfHead);
    if (end < 0) {
      if (received.length > mostHeadBytes) socket.destroy(new Error('The head of the answer is too long'));
      return;
    }
    const rest = received.subarray(end + endOfHead.length);
    const head = parseHead(received.toString('latin1', 0, end));
    if (head === undefined) {
      socket.destroy(new Error('The answer is not valid HTTP'));
    } else if (head.status >= 100 && head.status < 200 && head.status !== 101) {
      received = Buffer.alloc(0);
      take(rest);
    } else {
      socket.pause();
      socket.off('data', take);
      resolve(answerFrom(socket, head, rest));
    }
  };
  socket.on('data', take);
  // Keep the listener: an error after the answer is passed to the reader of the body.
  socket.on('error', reject);
  socket.once('close', () => reject(cutOff()));
  return promise;
}

interface Head {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
}

function parseHead(text: string): Head | undefined {
  const [first = '', ...lines] = text.split('\r\n');
  const status = /^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(first)?.[1];
  if (status === undefined) return undefined;
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  return { status: Number(status), headers };
}

function answerFrom(socket: Socket, { status, headers }: Head, head: Buffer): UnixAnswer {
  if (status === 101) return { status, body: nothing(), upgraded: { socket, head } };
  const length = headers.get('content-length');
  if (status === 204 || status === 304 || length === '0') {
    socket.destroy();
    return { status, body: nothing() };
  }
  socket.unref();
  const body =
    headers.get('transfer-encoding') === 'chunked'
      ? chunkedBody(pieces(socket, head))
      : plainBody(pieces(socket, head), length === undefined ? undefined : Number(length));
  return { status, body: leftAtOnce(body, socket) };
}

/** A generator's own `return` waits for a pending read, so leaving closes the connection first. */
function leftAtOnce(body: AsyncGenerator<Buffer>, socket: Socket): AsyncIterable<Buffer> {
  const iterator: AsyncIterator<Buffer> = {
    next: () => body.next(),
    async return() {
      socket.destroy();
      await body.return(undefined);
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

async function* nothing(): AsyncGenerator<Buffer> {}

async function* pieces(socket: Socket, head: Buffer): AsyncGenerator<Buffer> {
  socket.ref();
  try {
    if (head.length > 0) yield head;
    for await (const piece of socket) yield piece;
  } finally {
    socket.destroy();
  }
}

function aborted({ reason }: AbortSignal): Error {
  const error = new Error('The request was aborted', { cause: reason });
  return Object.assign(error, { name: 'AbortError', code: 'ABORT_ERR' });
}
