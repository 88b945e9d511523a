import { idParamSchema, removeQuerySchema } from '../../../contract/context.ts';
import { GeodeError } from '../../../core/errors.ts';
import { requireScope } from '../../guards/auth.ts';
import { defineRoute, notFoundRefusal, refusals, security } from '../../route.ts';

export const remove = defineRoute(
  {
    method: 'delete',
    path: '/api/v1/context/:id{[^]+}',
    summary: 'Forget an entry and its versions',
    tags: ['context'],
    security,
    middleware: requireScope('memory:write'),
    request: { params: idParamSchema, query: removeQuerySchema },
    responses: { 204: { description: 'It is gone.' }, ...refusals, ...notFoundRefusal },
  },
  async (context) => {
    const { id } = context.req.valid('param');
    if (!(await context.var.memory.forget(id))) {
      throw new GeodeError('entry_not_found', `There is no entry ${JSON.stringify(id)}`);
    }
    return context.body(null, 204);
  },
);
