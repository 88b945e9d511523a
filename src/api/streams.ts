/** Server-sent events: progress of long work. */
import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import { GeodeError } from '../base/errors.ts';
import type { ApiEnv } from './environment.ts';
import { errorOf, problemFor } from './problems.ts';
import { untilAborted } from './until-aborted.ts';

export function wantsEvents(context: Context): boolean {
  return context.req.header('accept')?.includes('text/event-stream') ?? false;
}

/** Fires when the caller leaves or the server stops. Work for the request ends then. */
export function signalOf(context: Context<ApiEnv>): AbortSignal {
  return AbortSignal.any([context.req.raw.signal, context.var.stopping]);
}

interface StreamEvent {
  readonly event: unknown;
  /** Sent back as `Last-Event-ID` by a caller that reconnects. */
  readonly next?: number | undefined;
}

/**
 * After the first byte it is too late for an error status: an error becomes the last event, `problem`. A slow reader
 * delays the events. The source is closed as soon as the caller leaves, even while it waits. Comments between the
 * events keep proxies from closing an idle stream.
 */
export function sendEvents(
  context: Context<ApiEnv>,
  status: number,
  source: AsyncIterable<object>,
  eventOf: (item: object) => StreamEvent,
): Response {
  context.status(status === 201 ? 201 : 200);
  return streamSSE(context, async (stream) => {
    const send = ({ event, next }: StreamEvent) =>
      stream.writeSSE({
        event: typeOf(event),
        data: JSON.stringify(event),
        ...(next !== undefined && { id: String(next) }),
      });
    const beat = setInterval(() => void stream.write(': alive\n\n'), beatMs);
    try {
      for await (const item of untilAborted(source, context.req.raw.signal)) await send(eventOf(item));
    } catch (thrown) {
      const error = errorOf(thrown, context);
      context.var.log[error.status >= 500 ? 'error' : 'info']({ err: error }, 'stream ended');
      await send({ event: { type: 'problem', ...problemFor(context, error) } });
    } finally {
      clearInterval(beat);
    }
  });
}

function typeOf(event: unknown): string {
  return typeof event === 'object' && event !== null && 'type' in event ? String(event.type) : 'message';
}

const beatMs = 15_000;

/** Waits for the first event, so that an earlier error gets its own status; returns all events. */
export async function begun<T>(events: AsyncGenerator<T>): Promise<AsyncGenerator<T>> {
  const first = await events.next();
  if (first.done) throw new GeodeError('internal', 'A stream without events.');
  return following(first.value, events);
}

/** An iteration that begins with an event which was already read. */
export async function* following<T>(first: T, rest: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    yield first;
    yield* rest;
  } finally {
    await rest.return(undefined);
  }
}

/** Where an interrupted caller continues. */
export function lastEventId(context: Context<ApiEnv>): number | undefined {
  const id = context.req.header('last-event-id');
  if (id === undefined || id === '') return undefined;
  if (/^\d{1,15}$/.test(id)) return Number(id);
  throw new GeodeError('invalid_input', 'Last-Event-ID was not sent by this server');
}
