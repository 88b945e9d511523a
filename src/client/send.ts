/** One request, and its refusal as a `GeodeError`. */
import { problemSchema } from '../api/schemas/problem.ts';
import { type ErrorCode, errorCatalogue, GeodeError, reasonOf } from '../core/errors.ts';

export interface Target {
  /** Such as `http://127.0.0.1:4430`. */
  readonly url: string;
  /** Not needed where the server's auth is off. */
  readonly key?: string | undefined;
}

export interface Sending {
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
  readonly json?: unknown;
  readonly form?: FormData;
  readonly accept?: string;
  /** Statuses that are an answer although they look like a failure. */
  readonly accepted?: readonly number[];
  readonly signal?: AbortSignal | undefined;
}

export async function send(
  target: Target,
  method: string,
  path: string,
  sending: Sending,
): Promise<Response> {
  const url = new URL(path, target.url);
  for (const [name, value] of Object.entries(sending.query ?? {})) {
    for (const each of [value].flat()) if (each !== undefined) url.searchParams.append(name, String(each));
  }
  const response = await request(url, {
    method,
    headers: {
      accept: sending.accept ?? 'application/json',
      ...(target.key !== undefined && { authorization: `Bearer ${target.key}` }),
      ...(sending.json !== undefined && { 'content-type': 'application/json' }),
    },
    body: sending.form ?? (sending.json === undefined ? null : JSON.stringify(sending.json)),
    signal: sending.signal ?? null,
  });
  if (response.ok || sending.accepted?.includes(response.status)) return response;
  throw await refusalOf(response);
}

async function request(url: URL, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (thrown) {
    if (init.signal?.aborted)
      throw new GeodeError('cancelled', 'The request was cancelled', { cause: thrown });
    const reason = thrown instanceof Error && thrown.cause ? reasonOf(thrown.cause) : reasonOf(thrown);
    throw new GeodeError('server_unreachable', `${url.origin} does not answer: ${reason}`, { cause: thrown });
  }
}

async function refusalOf(response: Response): Promise<GeodeError> {
  const text = await response.text();
  const { data: problem } = problemSchema.safeParse(parseJson(text));
  if (!problem || !isErrorCode(problem.code)) {
    return new GeodeError(
      'server_unreachable',
      `The server answered ${response.status}, which is no answer of Geode`,
    );
  }
  const { error, hint, details } = problem;
  return new GeodeError(problem.code, error, { hint, ...(details && { details }) });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorCatalogue, code);
}
