/** How the routes that store many entries answer: with all of them at once, or batch after batch. */
import { setImmediate } from 'node:timers/promises';
import type { Context } from 'hono';
import { type IngestEvent, ingestEventSchema, manyStoredSchema } from '../../../contract/context.ts';
import type { Memory, NewEntry } from '../../../core/memory.ts';
import type { ApiEnv } from '../../environment.ts';
import { streamEvents, wantsEvents } from '../../events.ts';
import { wireStored } from '../../wire.ts';

type Batches = Iterable<readonly NewEntry[]> | AsyncIterable<readonly NewEntry[]>;

export const manyStored = {
  201: {
    description: 'All are on disk, in the order of the request.',
    content: {
      'application/json': { schema: manyStoredSchema },
      'text/event-stream': { schema: ingestEventSchema },
    },
  },
};

/** All or none for who wants JSON; who wants events keeps the batches before a refusal. */
export async function storeMany(context: Context<ApiEnv>, batches: Batches, total: number) {
  const { memory } = context.var;
  const { signal } = context.req.raw;
  if (wantsEvents(context)) return streamEvents(context, 201, ingestEvents(memory, batches, total, signal));
  const entries: NewEntry[] = [];
  for await (const batch of batches) entries.push(...batch);
  const stored = await memory.storeMany(entries, { signal });
  return context.json({ stored: stored.map(wireStored) }, 201);
}

async function* ingestEvents(
  memory: Memory,
  batches: Batches,
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
