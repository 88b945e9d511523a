import { newEntrySchema, storedSchema } from '../../../contract/context.ts';
import { requireScope } from '../../guards/auth.ts';
import { defineRoute, json, jsonBody, limitEntryBody, security, writeRefusals } from '../../route.ts';
import { newEntryOf, wireStored } from '../../wire.ts';

export const ingest = defineRoute(
  {
    method: 'post',
    path: '/api/v1/context/ingest',
    summary: 'Store an entry',
    tags: ['context'],
    security,
    middleware: [requireScope('memory:write'), limitEntryBody],
    request: { body: jsonBody('The entry.', newEntrySchema) },
    responses: { 201: json('It is on disk.', storedSchema), ...writeRefusals },
  },
  async (context) => {
    const stored = await context.var.memory.store(newEntryOf(context.req.valid('json')), {
      signal: context.req.raw.signal,
    });
    return context.json(wireStored(stored), 201);
  },
);
