import { entryWithVersionsSchema, getQuerySchema, idParamSchema } from '../../../contract/context.ts';
import { GeodeError } from '../../../core/errors.ts';
import { requireScope } from '../../guards/auth.ts';
import { defineRoute, json, notFoundRefusal, refusals, security } from '../../route.ts';
import { wireEntry, wireVersion } from '../../wire.ts';

export const get = defineRoute(
  {
    method: 'get',
    path: '/api/v1/context/:id{[^]+}',
    summary: 'Read an entry',
    tags: ['context'],
    security,
    middleware: requireScope('memory:read'),
    request: { params: idParamSchema, query: getQuerySchema },
    responses: { 200: json('The entry.', entryWithVersionsSchema), ...refusals, ...notFoundRefusal },
  },
  async (context) => {
    const { memory } = context.var;
    const { id } = context.req.valid('param');
    const entry = await memory.get(id);
    if (!entry) throw new GeodeError('entry_not_found', `There is no entry ${JSON.stringify(id)}`);
    if (!context.req.valid('query').versions) return context.json(wireEntry(entry), 200);
    const versions = (await memory.history(id)).map(wireVersion);
    return context.json({ ...wireEntry(entry), versions }, 200);
  },
);
