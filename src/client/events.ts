/** Server-sent events, read once or for as long as it takes. */
import { type Cancel, onAbort } from '../base/cancel.ts';
import { GeodeError, isGeodeError } from '../base/errors.ts';
import {
  type ApiConnection,
  problemError,
  type QueryValues,
  type Sending,
  send,
  unreachable,
} from './send.ts';
import type { HttpAnswer } from './transport.ts';

interface ServerEvent<T> {
  readonly event: T;
  /** The position to continue from; undefined if the event has none. */
  readonly id: string | undefined;
}

type AnyEvent = { readonly type: string };

/** The events of one request; a `problem` event is thrown. Leaving the loop ends the request. */
export async function* streamEvents<T extends AnyEvent>(
  connection: ApiConnection,
  method: string,
  path: string,
  sending: Sending,
): AsyncGenerator<T> {
  for await (const { event } of eventsOf<T>(connection, method, path, sending)) yield event;
}

export interface Following extends Cancel {
  readonly query?: QueryValues;
  /** The last event of a stream. */
  readonly isLast: (type: string) => boolean;
  /** How long a host may be away before reading fails; default 30 s. */
  readonly patienceMs?: number;
}

/**
 * The events of a long stream. After a lost connection or a restart of the host it is reopened at the same place.
 * Ends after the last event.
 */
export async function* followEvents<T extends AnyEvent>(
  connection: ApiConnection,
  path: string,
  { query, isLast, patienceMs = 30_000, signal }: Following,
): AsyncGenerator<T> {
  let last: string | undefined;
  let lostAt: number | undefined;
  for (;;) {
    try {
      const headers = last === undefined ? {} : { 'last-event-id': last };
      for await (const { event, id } of eventsOf<T>(connection, 'GET', path, {
        ...(query && { query }),
        headers,
        signal,
      })) {
        lostAt = undefined;
        if (id !== undefined) last = id;
        yield event;
        if (isLast(event.type)) return;
      }
      throw new GeodeError('server_unreachable', 'The stream ended before its last event');
    } catch (error) {
      if (!isGeodeError(error, 'server_unreachable') && !isGeodeError(error, 'stopping')) throw error;
      lostAt ??= Date.now();
      if (Date.now() - lostAt > patienceMs) throw error;
    }
    await pause(retryMs, signal);
  }
}

const retryMs = 200;

async function* eventsOf<T extends AnyEvent>(
  connection: ApiConnection,
  method: string,
  path: string,
  sending: Sending,
): AsyncGenerator<ServerEvent<T>> {
  const response = await send(connection, method, path, { ...sending, accept: 'text/event-stream' });
  try {
    for await (const { event, id } of readEvents<T>(response)) {
      if (event.type === 'problem')
        throw problemError(event) ?? new GeodeError('internal', 'The stream failed');
      yield { event, id };
    }
  } catch (error) {
    throw isGeodeError(error) ? error : unreachable(connection.transport, error, sending.signal);
  }
}

/** The data of each event, parsed from JSON. */
export function readEvents<T>(response: HttpAnswer): AsyncGenerator<ServerEvent<T>>;
export async function* readEvents(response: HttpAnswer): AsyncGenerator<ServerEvent<unknown>> {
  const { body } = response;
  if (body === null) return;
  // Received parts of the next event; a large event arrives in many parts.
  let pieces: string[] = [];
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      pieces.push(value);
      if (!value.includes('\n')) continue;
      const events = pieces.join('').split('\n\n');
      pieces = [events.pop() ?? ''];
      for (const event of events) {
        const data = fieldOf(event, 'data');
        if (data !== undefined) yield { event: JSON.parse(data), id: fieldOf(event, 'id') };
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function fieldOf(event: string, name: string): string | undefined {
  const lines = event.split('\n').filter((line) => line.startsWith(`${name}: `));
  return lines.length === 0 ? undefined : lines.map((line) => line.slice(name.length + 2)).join('\n');
}

/** Waits until the time is up; throws `cancelled` on the signal. */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  using _watching = onAbort(signal, resolve);
  await promise;
  clearTimeout(timer);
  if (signal?.aborted)
    throw new GeodeError('cancelled', 'The reading was cancelled', { cause: signal.reason });
}
