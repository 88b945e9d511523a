/** Ingest with a report after each batch, as server-sent events. */
import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { NewEntry } from '../core/memory.ts';
import type { ApiEnv } from './environment.ts';
import { problemOf } from './problems.ts';
import type { IngestEvent } from './schemas.ts';
import { wireStored } from './wire.ts';

export function wantsEvents(context: Context): boolean {
  return context.req.header('accept')?.includes('text/event-stream') ?? false;
}

/** A refusal after the first byte has no status left to say it with: it is the last event. */
export function streamIngest(
  context: Context<ApiEnv>,
  batches: Iterable<readonly NewEntry[]> | AsyncIterable<readonly NewEntry[]>,
  total: number,
): Response {
  context.status(201);
  return streamSSE(context, async (stream) => {
    const send = (event: IngestEvent) => stream.writeSSE({ event: event.type, data: JSON.stringify(event) });
    let done = 0;
    try {
      for await (const batch of batches) {
        const stored = await context.var.memory.storeMany(batch, { signal: context.req.raw.signal });
        done += stored.length;
        await send({ type: 'progress', done, total, stored: stored.map(wireStored) });
      }
      await send({ type: 'end', done });
    } catch (thrown) {
      context.var.log.error({ err: thrown }, 'ingest ended');
      await send({ type: 'problem', done, problem: problemOf(thrown) });
    }
  });
}
