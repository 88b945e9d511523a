import { listQuerySchema, pageSchema } from '../../../contract/context.ts';
import { requireScope } from '../../guards/auth.ts';
import { defineRoute, json, refusals, security } from '../../route.ts';
import { filterOf, wireEntry } from '../../wire.ts';

export const list = defineRoute(
  {
    method: 'get',
    path: '/api/v1/context',
    summary: 'List entries, newest first',
    tags: ['context'],
    security,
    middleware: requireScope('memory:read'),
    request: { query: listQuerySchema },
    responses: { 200: json('One page.', pageSchema), ...refusals },
  },
  async (context) => {
    const { entries, total } = await context.var.memory.list(filterOf(context.req.valid('query')));
    return context.json({ entries: entries.map(wireEntry), total }, 200);
  },
);
