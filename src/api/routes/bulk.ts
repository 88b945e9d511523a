import { ingestEvents, streamEvents, wantsEvents } from '../events.ts';
import { requireScope } from '../guards/auth.ts';
import { bodyRefusals, defineRoute, limitBulkBody, notFoundRefusal, refusals, security } from '../route.ts';
import { bulkSchema, ingestEventSchema, manyStoredSchema } from '../schemas.ts';
import { newEntryOf, wireStored } from '../wire.ts';

export const bulk = defineRoute(
  {
    method: 'post',
    path: '/api/v1/context/bulk',
    summary: 'Store many entries',
    description:
      'Answers with JSON once all are stored, or with none stored when one is refused. With `Accept: text/event-stream` it stores them in batches and reports each; a refusal ends it and keeps the batches before.',
    tags: ['context'],
    security,
    middleware: [requireScope('memory:write'), limitBulkBody],
    request: {
      body: {
        description: 'The entries.',
        content: { 'application/json': { schema: bulkSchema } },
        required: true,
      },
    },
    responses: {
      201: {
        description: 'All are on disk, in the order of the request.',
        content: {
          'application/json': { schema: manyStoredSchema },
          'text/event-stream': { schema: ingestEventSchema },
        },
      },
      ...refusals,
      ...bodyRefusals,
      ...notFoundRefusal,
    },
  },
  async (context) => {
    const entries = context.req.valid('json').entries.map(newEntryOf);
    const { signal } = context.req.raw;
    const { memory } = context.var;
    if (wantsEvents(context)) {
      return streamEvents(context, 201, ingestEvents(memory, batchesOf(entries), entries.length, signal));
    }
    const stored = await memory.storeMany(entries, { signal });
    return context.json({ stored: stored.map(wireStored) }, 201);
  },
);

function* batchesOf<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < items.length; start += batchSize) yield items.slice(start, start + batchSize);
}

const batchSize = 100;
