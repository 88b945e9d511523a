/** What is done to a process from outside. */
import type { Context } from 'hono';
import { processParams, signalSchema, terminalSizeSchema } from '../../../contract/processes.ts';
import type { Process } from '../../../core/process.ts';
import type { ApiEnv } from '../../environment.ts';
import { signalOf } from '../../events.ts';
import { requireScope } from '../../guards/auth.ts';
import {
  binary,
  bodyRefusals,
  defineRoute,
  jsonBody,
  limitEntryBody,
  sandboxRefusals,
  security,
} from '../../route.ts';
import { startedSandbox } from '../../sandbox-of.ts';

const path = '/api/v1/sandboxes/{chat}/processes/{process}';

export const stdin = defineRoute(
  {
    method: 'post',
    path: `${path}/stdin`,
    summary: 'Write to the stdin of a process',
    tags: ['processes'],
    security,
    middleware: requireScope('sandboxes:write'),
    request: { params: processParams, body: { ...binary('The bytes.'), required: true } },
    responses: {
      204: { description: 'The process has been given them.' },
      ...sandboxRefusals,
      ...bodyRefusals,
    },
  },
  async (context) => {
    const process = await attached(context, context.req.valid('param'));
    const { body } = context.req.raw;
    if (body !== null) for await (const bytes of body) await process.write(bytes);
    return context.body(null, 204);
  },
);

export const closeStdin = defineRoute(
  {
    method: 'delete',
    path: `${path}/stdin`,
    summary: 'Close the stdin of a process',
    tags: ['processes'],
    security,
    middleware: requireScope('sandboxes:write'),
    request: { params: processParams },
    responses: { 204: { description: 'It reads the end.' }, ...sandboxRefusals },
  },
  async (context) => {
    await (await attached(context, context.req.valid('param'))).closeStdin();
    return context.body(null, 204);
  },
);

export const signal = defineRoute(
  {
    method: 'post',
    path: `${path}/signal`,
    summary: 'Send a signal to a process, or to everything below it',
    tags: ['processes'],
    security,
    middleware: [requireScope('sandboxes:write'), limitEntryBody],
    request: { params: processParams, body: jsonBody('The signal.', signalSchema) },
    responses: { 204: { description: 'It was sent.' }, ...sandboxRefusals, ...bodyRefusals },
  },
  async (context) => {
    const { chat, process } = context.req.valid('param');
    const { signal: name, tree = false } = context.req.valid('json');
    const sandbox = await startedSandbox(context, chat);
    await sandbox.signal(process, name, { tree, signal: signalOf(context) });
    return context.body(null, 204);
  },
);

export const resize = defineRoute(
  {
    method: 'post',
    path: `${path}/resize`,
    summary: 'Give the terminal of a process another size',
    tags: ['processes'],
    security,
    middleware: [requireScope('sandboxes:write'), limitEntryBody],
    request: { params: processParams, body: jsonBody('The size.', terminalSizeSchema) },
    responses: { 204: { description: 'The process was told.' }, ...sandboxRefusals, ...bodyRefusals },
  },
  async (context) => {
    await (await attached(context, context.req.valid('param'))).resize(context.req.valid('json'));
    return context.body(null, 204);
  },
);

async function attached(
  context: Context<ApiEnv>,
  { chat, process }: { readonly chat: string; readonly process: string },
): Promise<Process> {
  const sandbox = await startedSandbox(context, chat);
  return sandbox.attach(process, { signal: signalOf(context) });
}
