/** Sends one request; throws an error answer as a `GeodeError`. */

import { errorCatalogue } from '../base/error-catalogue.ts';
import { type ErrorCode, GeodeError, isGeodeError, reasonOf } from '../base/errors.ts';
import { parsedJson } from '../base/json.ts';
import type { HttpAnswer, Transport } from './transport.ts';

/** A host, and the user to act for. */
export interface ApiConnection {
  readonly transport: Transport;
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>;
}

export type QueryValues = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

export interface Sending {
  readonly query?: QueryValues;
  readonly json?: unknown;
  readonly form?: FormData;
  readonly body?: string | Uint8Array | Blob | AsyncIterable<Uint8Array>;
  readonly accept?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Error statuses that count as an answer. */
  readonly accepted?: readonly number[];
  readonly signal?: AbortSignal | undefined;
}

export async function send(
  connection: ApiConnection,
  method: string,
  path: string,
  sending: Sending = {},
): Promise<HttpAnswer> {
  const body = bodyOf(sending);
  const response = await request(connection, path + queryText(sending.query), {
    method,
    headers: {
      ...connection.headers,
      accept: sending.accept ?? 'application/json',
      ...(sending.json !== undefined && { 'content-type': 'application/json' }),
      ...(sending.body !== undefined && { 'content-type': 'application/octet-stream' }),
      ...sending.headers,
    },
    body,
    ...(isStream(body) && { duplex: 'half' as const }),
    signal: sending.signal ?? null,
  });
  if (response.ok || sending.accepted?.includes(response.status)) return response;
  throw await refusalOf(response);
}

/** The server belongs to this package and checks its own answers, so they are not checked again here. */
export async function ask<T>(
  connection: ApiConnection,
  method: string,
  path: string,
  sending?: Sending,
): Promise<T> {
  const response = await send(connection, method, path, sending);
  return jsonOf<T>(response);
}

async function jsonOf<T>(response: HttpAnswer): Promise<T>;
async function jsonOf(response: HttpAnswer): Promise<unknown> {
  const text = await response.text().catch((thrown) => {
    throw new GeodeError('server_unreachable', `The answer was incomplete: ${reasonOf(thrown)}`, {
      cause: thrown,
    });
  });
  const parsed = parsedJson(text);
  if (parsed === undefined) throw notGeode(response);
  return parsed;
}

export function queryText(query: QueryValues = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const each of [value].flat()) if (each !== undefined) search.append(name, String(each));
  }
  return search.size > 0 ? `?${search}` : '';
}

function bodyOf({ json, form, body }: Sending): NonNullable<RequestInit['body']> | null {
  if (json !== undefined) return JSON.stringify(json);
  if (form !== undefined) return form;
  if (body === undefined || typeof body === 'string' || body instanceof Blob) return body ?? null;
  if (body instanceof Uint8Array) return new Uint8Array(body);
  const iterator = body[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const step = await iterator.next();
      if (step.done) controller.close();
      else controller.enqueue(step.value);
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}

/** Without loading zod's class, which takes time and is rarely needed. */
function isStream(body: RequestInit['body']): boolean {
  return typeof body === 'object' && body !== null && 'getReader' in body;
}

async function request({ transport }: ApiConnection, path: string, init: RequestInit): Promise<HttpAnswer> {
  try {
    return await transport.fetch(path, init);
  } catch (thrown) {
    throw isGeodeError(thrown) ? thrown : unreachable(transport, thrown, init.signal);
  }
}

export function unreachable(
  { name }: Transport,
  thrown: unknown,
  signal: AbortSignal | null | undefined,
): GeodeError {
  if (signal?.aborted) return new GeodeError('cancelled', 'The request was cancelled', { cause: thrown });
  const reason = thrown instanceof Error && thrown.cause ? reasonOf(thrown.cause) : reasonOf(thrown);
  return new GeodeError('server_unreachable', `${name} does not answer: ${reason}`, { cause: thrown });
}

async function refusalOf(response: HttpAnswer): Promise<GeodeError> {
  return problemError(parsedJson(await response.text())) ?? notGeode(response);
}

function notGeode({ status }: HttpAnswer): GeodeError {
  return new GeodeError('server_unreachable', `The server answered ${status} in an unknown format`);
}

/** An error received over the wire; undefined for anything else. */
export function problemError(problem: unknown): GeodeError | undefined {
  if (typeof problem !== 'object' || problem === null || !('code' in problem) || !('error' in problem))
    return undefined;
  const { error, code } = problem;
  if (typeof error !== 'string' || typeof code !== 'string' || !isErrorCode(code)) return undefined;
  const hint = 'hint' in problem && typeof problem.hint === 'string' ? { hint: problem.hint } : {};
  const details =
    'details' in problem && typeof problem.details === 'object' && problem.details !== null
      ? { details: { ...problem.details } }
      : {};
  return new GeodeError(code, error, { ...hint, ...details });
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorCatalogue, code);
}
