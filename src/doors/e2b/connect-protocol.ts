/**
 * The Connect protocol in JSON, for E2B's clients: https://connectrpc.com/docs/protocol. A unary call is JSON in and
 * JSON out. A streaming call sends one message and gets a sequence of messages, each after one byte of flags and four
 * bytes of length; the last one says how the stream ended.
 */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { Context } from 'hono';
import type { z } from 'zod';
import type { ApiEnv } from '../../api/environment.ts';
import { errorOf, problemFor } from '../../api/problems.ts';
import { errorCatalogue } from '../../base/error-catalogue.ts';
import { type ErrorCode, GeodeError } from '../../base/errors.ts';
import { jsonOf } from '../json-body.ts';

/** Maximum unpacked size of a compressed message; uncompressed ones are limited before they arrive here. */
const mostBytes = 16 * 1024 ** 2;
const headBytes = 5;
const isCompressed = 1;
const isEnd = 2;
const usualKeepaliveMs = 50_000;
const unzip = promisify(gunzip);

/** A unary call. */
export async function unary<Schema extends z.ZodType>(
  context: Context<ApiEnv>,
  schema: Schema,
  answer: (input: z.output<Schema>) => Promise<object>,
): Promise<Response> {
  const zipped = context.req.header('content-encoding') === 'gzip';
  const body = await bytesOf(context);
  return context.json(await answer(jsonOf(schema, (zipped ? await unzipped(body) : body).toString())), 200);
}

/**
 * A call answered by a stream. Errors are sent in its last frame, because clients ignore the body of an error status.
 * A `keepalive` is sent as often as the caller asks, so that silence is not taken for a lost connection.
 */
export async function streaming<Schema extends z.ZodType>(
  context: Context<ApiEnv>,
  schema: Schema,
  keepalive: object,
  answers: (input: z.output<Schema>) => AsyncGenerator<object, void>,
): Promise<Response> {
  const body = await bytesOf(context);
  context.header('Content-Type', 'application/connect+json');
  return context.body(ReadableStream.from(framed(context, messages())), 200);

  async function* messages(): AsyncGenerator<object, void> {
    if (body.length < headBytes) throw new GeodeError('invalid_input', 'The call contains no message.');
    const message = body.subarray(headBytes, headBytes + body.readUInt32BE(1));
    const zipped = ((body[0] ?? 0) & isCompressed) !== 0;
    const input = jsonOf(schema, (zipped ? await unzipped(message) : message).toString());
    const seconds = Number(context.req.header('keepalive-ping-interval') ?? 0);
    const everyMs = seconds >= 1 ? seconds * 1000 : usualKeepaliveMs;
    yield* kept(answers(input), keepalive, everyMs);
  }
}

async function* kept(
  source: AsyncGenerator<object, void>,
  keepalive: object,
  everyMs: number,
): AsyncGenerator<object, void> {
  try {
    for (;;) {
      const next = source.next();
      for (;;) {
        const silent = Promise.withResolvers<'silent'>();
        const timer = setTimeout(() => silent.resolve('silent'), everyMs);
        const step = await Promise.race([next, silent.promise]).finally(() => clearTimeout(timer));
        if (step === 'silent') {
          yield keepalive;
          continue;
        }
        if (step.done) return;
        yield step.value;
        break;
      }
    }
  } finally {
    // Closes the stream's source; a waiting source notices at its next event.
    void source.return().catch(() => {});
  }
}

async function* framed(
  context: Context<ApiEnv>,
  messages: AsyncGenerator<object, void>,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const message of messages) yield frame(0, message);
    yield frame(isEnd, {});
  } catch (thrown) {
    yield frame(isEnd, { error: connectError(context, thrown).body });
  }
}

function frame(flags: number, message: object): Uint8Array {
  const text = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(headBytes);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(text.length, 1);
  return Buffer.concat([head, text]);
}

async function bytesOf({ req }: Context<ApiEnv>): Promise<Buffer> {
  return Buffer.from(await req.arrayBuffer());
}

async function unzipped(bytes: Uint8Array): Promise<Buffer> {
  try {
    return await unzip(bytes, { maxOutputLength: mostBytes });
  } catch (error) {
    throw new GeodeError('invalid_input', 'The message cannot be decompressed.', { cause: error });
  }
}

/** The protocol's error codes, with its HTTP statuses. */
const statusOf = {
  unavailable: 503,
  unauthenticated: 401,
  permission_denied: 403,
  not_found: 404,
  already_exists: 409,
  failed_precondition: 400,
  resource_exhausted: 429,
  canceled: 499,
  deadline_exceeded: 504,
  internal: 500,
  invalid_argument: 400,
} as const;
type ConnectCode = keyof typeof statusOf;

/** Codes that are more specific than the HTTP status. */
const special: Partial<Record<ErrorCode, ConnectCode>> = {
  file_exists: 'already_exists',
  sandbox_not_found: 'unavailable',
  sandbox_gone: 'unavailable',
  sandbox_stopped: 'unavailable',
  sandbox_paused: 'unavailable',
};

const byStatus: Readonly<Record<number, ConnectCode>> = {
  401: 'unauthenticated',
  403: 'permission_denied',
  404: 'not_found',
  409: 'failed_precondition',
  429: 'resource_exhausted',
  499: 'canceled',
  502: 'unavailable',
  503: 'unavailable',
  504: 'deadline_exceeded',
  507: 'resource_exhausted',
};

export function connectError(context: Context<ApiEnv>, thrown: unknown) {
  const error = errorOf(thrown, context);
  const { status } = errorCatalogue[error.code];
  const code = special[error.code] ?? byStatus[status] ?? (status >= 500 ? 'internal' : 'invalid_argument');
  const { error: message, hint } = problemFor(context, error);
  return { status: statusOf[code], body: { code, message: `${message} ${hint ?? ''}`.trim() } };
}
