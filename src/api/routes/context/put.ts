import { contentSchema, newIdParamSchema, storedSchema } from '../../../contract/context.ts';
import { requireScope } from '../../guards/auth.ts';
import { defineRoute, json, jsonBody, limitEntryBody, security, writeRefusals } from '../../route.ts';
import { newEntryOf, wireStored } from '../../wire.ts';

export const put = defineRoute(
  {
    method: 'put',
    path: '/api/v1/context/:id{[^]+}',
    summary: 'Write an entry: its first or its next version',
    tags: ['context'],
    security,
    middleware: [requireScope('memory:write'), limitEntryBody],
    request: {
      params: newIdParamSchema,
      body: jsonBody('All of the new version.', contentSchema),
    },
    responses: {
      200: json('The entry has a new version.', storedSchema),
      201: json('The entry is new.', storedSchema),
      ...writeRefusals,
    },
  },
  async (context) => {
    const entry = newEntryOf({ ...context.req.valid('json'), id: context.req.valid('param').id });
    const stored = await context.var.memory.store(entry, { signal: context.req.raw.signal });
    return context.json(wireStored(stored), stored.outcome === 'created' ? 201 : 200);
  },
);
