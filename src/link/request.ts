import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import { constants } from 'node:http2';
import { z } from 'zod';
import { type Cancel, within } from '../base/cancel.ts';
import { errorCatalogue } from '../base/error-catalogue.ts';
import { type ErrorCode, GeodeError } from '../base/errors.ts';
import { protocolError } from '../base/protocol-error.ts';

const largestJson = 16 * 1024 ** 2;
const largestError = 64 * 1024;

export interface JsonRequest<T> extends Cancel {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly schema: z.ZodType<T>;
  readonly deadlineMs: number;
}

/** One small request and its checked answer: the guest is trusted with neither its shape nor its size. */
export async function requestJson<T>(session: ClientHttp2Session, request: JsonRequest<T>): Promise<T> {
  const what = `${request.method} ${request.path.replace(/\?.*/, '')} in the sandbox`;
  return within({ ms: request.deadlineMs, what, signal: request.signal }, async (signal) => {
    const stream = openStream(session, request.method, request.path, signal);
    const answered = responseOf(stream);
    stream.end(request.body === undefined ? undefined : JSON.stringify(request.body));
    await answered;
    return parseJson(await collect(stream, largestJson), request.schema);
  });
}

/**
 * A stream that is reset when the signal fires; its late errors are ignored. Reset means `destroy`: `close` would
 * first end the body, and half an upload would look complete.
 */
export function openStream(
  session: ClientHttp2Session,
  method: string,
  path: string,
  signal?: AbortSignal,
): ClientHttp2Stream {
  if (session.closed || session.destroyed)
    throw new GeodeError('link_lost', 'The link to the sandbox is closed.');
  const stream = session.request({ ':method': method, ':path': path }, { endStream: false });
  stream.on('error', () => {});
  // Node drains an unread stream when its other end closes; this one waits for its reader.
  stream.pause();
  if (signal !== undefined) {
    const reset = () => stream.destroy();
    signal.addEventListener('abort', reset, { once: true });
    stream.once('close', () => signal.removeEventListener('abort', reset));
  }
  return stream;
}

/** Resolves to the headers of a 2xx answer. Throws the error of any other answer, and `link_lost` for a lost stream. */
export async function responseOf(stream: ClientHttp2Stream): Promise<IncomingHttpHeaders> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingHttpHeaders>();
  const lost = () => reject(linkLost());
  stream.once('response', resolve).once('close', lost);
  const headers = await promise.finally(() => stream.off('response', resolve).off('close', lost));
  const status = Number(headers[':status']);
  if (status >= 200 && status < 300) return headers;
  throw errorFrom(await collect(stream, largestError), status);
}

export async function collect(stream: ClientHttp2Stream, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunksOf(stream)) {
    length += chunk.length;
    if (length > limit) throw protocolError(`an answer longer than ${limit} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}

/**
 * The body of an answer to its end; an interrupted body throws `link_lost`. Node's own iterator reports a stream
 * closed by the other side as broken, even while its last bytes wait to be read.
 */
export async function* chunksOf(stream: ClientHttp2Stream, longestSilenceMs = 0): AsyncGenerator<Buffer> {
  let state: 'open' | 'ended' | 'closed' = stream.readableEnded
    ? 'ended'
    : stream.destroyed
      ? 'closed'
      : 'open';
  let wake = () => {};
  const onReadable = () => wake();
  const onEnd = () => {
    state = 'ended';
    wake();
  };
  const onClose = () => {
    if (state === 'open') state = 'closed';
    wake();
  };
  // Zero: no timeout, because a process may be silent for any time.
  stream.setTimeout(longestSilenceMs, () => stream.destroy());
  stream.on('readable', onReadable).on('end', onEnd).on('close', onClose);
  try {
    for (;;) {
      const chunk: Buffer | null = stream.read();
      if (chunk !== null) yield chunk;
      else if (state === 'ended' && stream.rstCode === constants.NGHTTP2_NO_ERROR) return;
      else if (state !== 'open') throw linkLost();
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    stream.off('readable', onReadable).off('end', onEnd).off('close', onClose);
  }
}

export function parseJson<T>(bytes: Buffer, schema: z.ZodType<T>): T {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw new GeodeError('guest_protocol', 'The guest answered with something that is not JSON.', { cause });
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw protocolError(`an answer of the wrong shape (${z.prettifyError(parsed.error)})`);
  return parsed.data;
}

export function linkLost(cause?: unknown): GeodeError {
  return new GeodeError('link_lost', 'The link to the sandbox was lost.', { cause });
}

const errorSchema = z.looseObject({ code: z.string().max(64), error: z.string().max(8192) });

export function errorFrom(body: Buffer, status: number): GeodeError {
  const { code, error } = parseJson(body, errorSchema);
  if (isErrorCode(code)) return new GeodeError(code, error);
  return protocolError(`answered ${status} with the unknown code ${JSON.stringify(code)}`);
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorCatalogue, code);
}
