/** Server-sent events: how work that takes long reports. */
import { setImmediate } from 'node:timers/promises';
import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { Memory, NewEntry } from '../core/memory.ts';
import type { ApiEnv } from './environment.ts';
import { errorOf, problemOf } from './problems.ts';
import type { IngestEvent } from './schemas.ts';
import { wireStored } from './wire.ts';

export function wantsEvents(context: Context): boolean {
  return context.req.header('accept')?.includes('text/event-stream') ?? false;
}

/** After the first byte no status is left to say a refusal with: it is the last event, `problem`. */
export function streamEvents(
  context: Context<ApiEnv>,
  status: 200 | 201,
  events: AsyncIterable<{ readonly type: string }>,
): Response {
  context.status(status);
  return streamSSE(context, async (stream) => {
    const send = (event: { readonly type: string }) =>
      stream.writeSSE({ event: event.type, data: JSON.stringify(event) });
    try {
      for await (const event of events) await send(event);
    } catch (thrown) {
      const error = errorOf(thrown, context);
      context.var.log[error.status >= 500 ? 'error' : 'info']({ err: error }, 'stream ended');
      await send({ type: 'problem', ...problemOf(error) });
    }
  });
}

/** Stores batch after batch. What is stored before a refusal stays. */
export async function* ingestEvents(
  memory: Memory,
  batches: Iterable<readonly NewEntry[]> | AsyncIterable<readonly NewEntry[]>,
  total: number,
  signal: AbortSignal,
): AsyncGenerator<IngestEvent> {
  let done = 0;
  for await (const batch of batches) {
    const stored = await memory.storeMany(batch, { signal });
    done += stored.length;
    yield { type: 'progress', done, total, stored: stored.map(wireStored) };
    // Storing may never wait for anything; other requests, and this one's reader, get their turn here.
    await setImmediate();
  }
  yield { type: 'end', done };
}
