import { spawnSchema, startedSchema } from '../../../contract/processes.ts';
import { chatParams } from '../../../contract/sandboxes.ts';
import { signalOf } from '../../events.ts';
import { requireScope } from '../../guards/auth.ts';
import {
  bodyRefusals,
  defineRoute,
  json,
  jsonBody,
  limitCommandBody,
  sandboxRefusals,
  security,
} from '../../route.ts';
import { startedSandbox } from '../../sandbox-of.ts';
import { commandOf, markBefore } from './command.ts';

export const spawn = defineRoute(
  {
    method: 'post',
    path: '/api/v1/sandboxes/{chat}/processes',
    summary: 'Start a process that goes on without its caller',
    tags: ['processes'],
    security,
    middleware: [requireScope('sandboxes:write'), limitCommandBody],
    request: { params: chatParams, body: jsonBody('The command.', spawnSchema) },
    responses: { 201: json('It has started.', startedSchema), ...sandboxRefusals, ...bodyRefusals },
  },
  async (context) => {
    const wire = context.req.valid('json');
    const sandbox = await startedSandbox(context, context.req.valid('param').chat);
    const signal = signalOf(context);
    await markBefore(sandbox, wire.undoable, signal);
    const { id, pid } = await sandbox.spawn(commandOf(wire), { signal });
    return context.json({ id, pid, sandbox: sandbox.id }, 201);
  },
);
