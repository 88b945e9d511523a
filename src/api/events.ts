/** Server-sent events: how work that takes long reports. */
import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import { GeodeError } from '../core/errors.ts';
import type { ApiEnv } from './environment.ts';
import { errorOf, problemOf } from './problems.ts';

export function wantsEvents(context: Context): boolean {
  return context.req.header('accept')?.includes('text/event-stream') ?? false;
}

/** Fires when the caller leaves or the server stops: whatever is under way for a request ends then. */
export function signalOf(context: Context<ApiEnv>): AbortSignal {
  return AbortSignal.any([context.req.raw.signal, context.var.stopping]);
}

type StreamedEvent = { readonly type: string };

/**
 * After the first byte no status is left to say a refusal with: it is the last event, `problem`. A slow reader holds
 * the events up. Comments between them tell a proxy, and a caller that has gone, that the stream is alive.
 */
export function streamEvents<E extends StreamedEvent>(
  context: Context<ApiEnv>,
  status: 200 | 201,
  events: AsyncIterable<E>,
  /** Where a caller that reconnects goes on: it sends it back as `Last-Event-ID`. */
  idOf: (event: E) => number | undefined = () => undefined,
): Response {
  context.status(status);
  return streamSSE(context, async (stream) => {
    const send = (event: StreamedEvent, id?: number) =>
      stream.writeSSE({
        event: event.type,
        data: JSON.stringify(event),
        ...(id !== undefined && { id: String(id) }),
      });
    const beat = setInterval(() => void stream.write(': alive\n\n'), beatMs);
    try {
      for await (const event of events) await send(event, idOf(event));
    } catch (thrown) {
      const error = errorOf(thrown, context);
      context.var.log[error.status >= 500 ? 'error' : 'info']({ err: error }, 'stream ended');
      await send({ type: 'problem', ...problemOf(error) });
    } finally {
      clearInterval(beat);
    }
  });
}

const beatMs = 15_000;

/** Where a caller that was cut off goes on. */
export function lastEventId(context: Context<ApiEnv>): number | undefined {
  const id = context.req.header('last-event-id');
  if (id === undefined || id === '') return undefined;
  if (/^\d{1,15}$/.test(id)) return Number(id);
  throw new GeodeError('invalid_input', 'Last-Event-ID is not one that this server gave');
}
