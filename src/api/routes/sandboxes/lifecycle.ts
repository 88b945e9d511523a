/** What is done to a whole sandbox, and answers with how it is then. */
import type { Context } from 'hono';
import type { ZodType } from 'zod';
import { toWire } from '../../../contract/names.ts';
import {
  chatParams,
  extendSchema,
  forkSchema,
  newLabelsSchema,
  removedSchema,
  renameSchema,
  sandboxSchema,
  thinkingSchema,
} from '../../../contract/sandboxes.ts';
import type { Cancel } from '../../../core/cancel.ts';
import type { SandboxStatus, UserSandboxes } from '../../../core/persistent.ts';
import type { ApiEnv } from '../../environment.ts';
import { signalOf } from '../../events.ts';
import { requireScope } from '../../guards/auth.ts';
import {
  bodyRefusals,
  defineRoute,
  json,
  jsonBody,
  limitEntryBody,
  sandboxRefusals,
  security,
} from '../../route.ts';

const path = '/api/v1/sandboxes/{chat}';

export const inspect = defineRoute(
  {
    method: 'get',
    path,
    summary: 'Look at a sandbox',
    tags: ['sandboxes'],
    security,
    middleware: requireScope('sandboxes:read'),
    request: { params: chatParams },
    responses: { 200: json('As it is now.', sandboxSchema), ...sandboxRefusals },
  },
  async (context) => {
    const { chat } = context.req.valid('param');
    return context.json(toWire(await context.var.sandboxes.inspect(chat, cancelOf(context))), 200);
  },
);

export const remove = defineRoute(
  {
    method: 'delete',
    path,
    summary: 'Remove a sandbox for good, with its workspace',
    tags: ['sandboxes'],
    security,
    middleware: requireScope('sandboxes:write'),
    request: { params: chatParams },
    responses: { 200: json('Whether there was one.', removedSchema), ...sandboxRefusals },
  },
  async (context) => {
    const { chat } = context.req.valid('param');
    return context.json({ removed: await context.var.sandboxes.remove(chat, cancelOf(context)) }, 200);
  },
);

/** Without a body: `work` is done and the sandbox shown. */
function deed(
  verb: string,
  summary: string,
  work: (own: UserSandboxes, chat: string, cancel: Cancel) => Promise<unknown>,
) {
  return defineRoute(
    {
      method: 'post',
      path: `${path}/${verb}` as const,
      summary,
      tags: ['sandboxes'],
      security,
      middleware: requireScope('sandboxes:write'),
      request: { params: chatParams },
      responses: { 200: json('As it is now.', sandboxSchema), ...sandboxRefusals },
    },
    async (context) => {
      const { chat } = context.req.valid('param');
      const { sandboxes } = context.var;
      await work(sandboxes, chat, cancelOf(context));
      return context.json(toWire(await sandboxes.inspect(chat, cancelOf(context))), 200);
    },
  );
}

export const start = deed('start', 'Start a sandbox', (own, chat, cancel) => own.start(chat, cancel));
export const stop = deed('stop', 'Stop a sandbox; its files stay', (own, chat, cancel) =>
  own.stop(chat, cancel),
);
export const pause = deed('pause', 'Stop the time of everything in a sandbox', (own, chat, cancel) =>
  own.pause(chat, cancel),
);
export const resume = deed('resume', 'Let a paused sandbox go on', (own, chat, cancel) =>
  own.start(chat, cancel),
);

/** With a body. */
function change<T>(
  verb: string,
  summary: string,
  schema: ZodType<T>,
  work: (own: UserSandboxes, chat: string, body: T, cancel: Cancel) => Promise<SandboxStatus>,
) {
  return defineRoute(
    {
      method: 'post',
      path: `${path}/${verb}` as const,
      summary,
      tags: ['sandboxes'],
      security,
      middleware: [requireScope('sandboxes:write'), limitEntryBody],
      request: { params: chatParams, body: jsonBody('The change.', schema) },
      responses: { 200: json('As it is now.', sandboxSchema), ...sandboxRefusals, ...bodyRefusals },
    },
    async (context) => {
      const { chat } = context.req.valid('param');
      const status = await work(context.var.sandboxes, chat, context.req.valid('json'), cancelOf(context));
      return context.json(toWire(status), 200);
    },
  );
}

export const extend = change(
  'extend',
  'Keep a sandbox from being stopped for a time',
  extendSchema,
  (own, chat, { ms }) => own.extend(chat, ms),
);
export const thinking = change(
  'thinking',
  'Say that the caller will come back by then',
  thinkingSchema,
  async (own, chat, { until }) => {
    await own.thinkingUntil(chat, until);
    return own.inspect(chat);
  },
);
export const rename = change('rename', 'Give a sandbox to another chat', renameSchema, (own, chat, { to }) =>
  own.rename(chat, to),
);
export const label = change(
  'labels',
  'Replace the labels of a sandbox',
  newLabelsSchema,
  (own, chat, { labels }) => own.label(chat, labels),
);
export const fork = change(
  'fork',
  'Make another sandbox with a copy of the files, as they are or were in a snapshot',
  forkSchema,
  async (own, chat, { to, snapshot }, cancel) => {
    await own.fork(chat, to, { ...(snapshot !== undefined && { snapshot }), ...cancel });
    return own.inspect(to, cancel);
  },
);

function cancelOf(context: Context<ApiEnv>): Cancel {
  return { signal: signalOf(context) };
}
