import { bulkSchema } from '../../../contract/context.ts';
import { requireScope } from '../../guards/auth.ts';
import { defineRoute, jsonBody, limitBulkBody, security, writeRefusals } from '../../route.ts';
import { newEntryOf } from '../../wire.ts';
import { manyStored, storeMany } from './store-many.ts';

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
    request: { body: jsonBody('The entries.', bulkSchema) },
    responses: { ...manyStored, ...writeRefusals },
  },
  (context) => {
    const entries = context.req.valid('json').entries.map(newEntryOf);
    return storeMany(context, batchesOf(entries), entries.length);
  },
);

function* batchesOf<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < items.length; start += batchSize) yield items.slice(start, start + batchSize);
}

const batchSize = 100;
