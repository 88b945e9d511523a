import { toWire } from '../../../contract/names.ts';
import { sandboxesSchema, sandboxListQuery } from '../../../contract/sandboxes.ts';
import { GeodeError } from '../../../core/errors.ts';
import type { Sandboxes } from '../../../core/persistent.ts';
import { signalOf } from '../../events.ts';
import { requireScope } from '../../guards/auth.ts';
import { defineRoute, json, refusals, security } from '../../route.ts';

export function list(all: Sandboxes['all']) {
  return defineRoute(
    {
      method: 'get',
      path: '/api/v1/sandboxes',
      summary: 'List the sandboxes',
      tags: ['sandboxes'],
      security,
      middleware: requireScope('sandboxes:read'),
      request: { query: sandboxListQuery },
      responses: { 200: json('Running or not.', sandboxesSchema), ...refusals },
    },
    async (context) => {
      const { caller, sandboxes } = context.var;
      const cancel = { signal: signalOf(context) };
      const isAll = context.req.valid('query').users === 'all';
      if (isAll && caller.actsFor !== 'anyone')
        throw new GeodeError('forbidden', "Sandboxes of all users are listed on the host's own socket only");
      const found = await (isAll ? all(cancel) : sandboxes.list(cancel));
      return context.json({ sandboxes: found.map((each) => toWire(each)) }, 200);
    },
  );
}
