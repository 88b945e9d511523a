/** What is done to files apart from their content. */
import type { ZodType } from 'zod';
import {
  chmodSchema,
  countSchema,
  mkdirSchema,
  moveSchema,
  pathQuery,
  replaceSchema,
} from '../../../contract/files.ts';
import { chatParams, removedSchema } from '../../../contract/sandboxes.ts';
import type { Cancel } from '../../../core/cancel.ts';
import type { Files } from '../../../core/files.ts';
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
import { filesFor } from './files-for.ts';

const path = '/api/v1/sandboxes/{chat}/files';

export const remove = defineRoute(
  {
    method: 'delete',
    path,
    summary: 'Remove a file, or a folder with all that is in it',
    tags: ['files'],
    security,
    middleware: requireScope('sandboxes:write'),
    request: { params: chatParams, query: pathQuery },
    responses: { 200: json('Whether there was something.', removedSchema), ...sandboxRefusals },
  },
  async (context) => {
    const { path: name, root } = context.req.valid('query');
    const files = await filesFor(context, context.req.valid('param').chat, root, 'change');
    return context.json({ removed: await files.remove(name, { signal: signalOf(context) }) }, 200);
  },
);

interface Named {
  readonly path: string;
  readonly root?: boolean | undefined;
}

function change<T extends Named>(
  verb: string,
  summary: string,
  schema: ZodType<T>,
  work: (files: Files, body: T, cancel: Cancel) => Promise<void>,
) {
  return defineRoute(
    {
      method: 'post',
      path: `${path}/${verb}` as const,
      summary,
      tags: ['files'],
      security,
      middleware: [requireScope('sandboxes:write'), limitEntryBody],
      request: { params: chatParams, body: jsonBody('The change.', schema) },
      responses: { 204: { description: 'It is done.' }, ...sandboxRefusals, ...bodyRefusals },
    },
    async (context) => {
      const body = context.req.valid('json');
      const files = await filesFor(context, context.req.valid('param').chat, body.root, 'change');
      await work(files, body, { signal: signalOf(context) });
      return context.body(null, 204);
    },
  );
}

export const mkdir = change(
  'mkdir',
  'Make a folder and those above it',
  mkdirSchema,
  (files, { path: name, mode }, cancel) =>
    files.mkdir(name, { ...(mode !== undefined && { mode }), ...cancel }),
);
export const move = change(
  'move',
  'Move a file or a folder',
  moveSchema,
  (files, { path: name, to, overwrite = false }, cancel) => files.move(name, to, { overwrite, ...cancel }),
);
export const copy = change(
  'copy',
  'Copy a file or a folder',
  moveSchema,
  (files, { path: name, to, overwrite = false }, cancel) => files.copy(name, to, { overwrite, ...cancel }),
);
export const chmod = change(
  'chmod',
  'Change the mode of a file',
  chmodSchema,
  (files, { path: name, mode }, cancel) => files.chmod(name, mode, cancel),
);

export const replace = defineRoute(
  {
    method: 'post',
    path: `${path}/replace`,
    summary: 'Replace text in a file, all at once',
    tags: ['files'],
    security,
    middleware: [requireScope('sandboxes:write'), limitEntryBody],
    request: { params: chatParams, body: jsonBody('What by what.', replaceSchema) },
    responses: { 200: json('How often.', countSchema), ...sandboxRefusals, ...bodyRefusals },
  },
  async (context) => {
    const { path: name, root, pattern, replacement, regex = false, expect } = context.req.valid('json');
    const files = await filesFor(context, context.req.valid('param').chat, root, 'change');
    const count = await files.replace(name, pattern, replacement, {
      regex,
      ...(expect !== undefined && { expect }),
      signal: signalOf(context),
    });
    return context.json({ count }, 200);
  },
);
