import { toWire } from '../../../contract/names.ts';
import { processesSchema } from '../../../contract/processes.ts';
import { chatParams } from '../../../contract/sandboxes.ts';
import { signalOf } from '../../events.ts';
import { requireScope } from '../../guards/auth.ts';
import { defineRoute, json, sandboxRefusals, security } from '../../route.ts';
import { runningSandbox } from '../../sandbox-of.ts';

export const list = defineRoute(
  {
    method: 'get',
    path: '/api/v1/sandboxes/{chat}/processes',
    summary: 'List the processes of a running sandbox',
    tags: ['processes'],
    security,
    middleware: requireScope('sandboxes:read'),
    request: { params: chatParams },
    responses: {
      200: json('Running ones, and those that ended lately.', processesSchema),
      ...sandboxRefusals,
    },
  },
  async (context) => {
    const sandbox = await runningSandbox(context, context.req.valid('param').chat);
    return context.json(toWire(await sandbox.processes({ signal: signalOf(context) })), 200);
  },
);
