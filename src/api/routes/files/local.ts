/** Copies between a sandbox and the machine of the host, for whoever runs it: paths here are that machine's own. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Context } from 'hono';
import { countSchema, downloadSchema, saveSchema, uploadSchema } from '../../../contract/files.ts';
import { chatParams } from '../../../contract/sandboxes.ts';
import { GeodeError } from '../../../core/errors.ts';
import { defaultLimits } from '../../../core/limits.ts';
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
import { startedSandbox } from '../../sandbox-of.ts';

const path = '/api/v1/sandboxes/{chat}/files';
const common = {
  method: 'post' as const,
  tags: ['files'],
  security,
  middleware: [requireScope('sandboxes:write'), limitEntryBody],
};
const answers = { 200: json('How many entries.', countSchema), ...sandboxRefusals, ...bodyRefusals };

export const save = defineRoute(
  {
    ...common,
    path: `${path}/save`,
    summary: "Copy a file out of a sandbox, to the host's machine; only on its own socket",
    description: 'A file that is there already is refused. Holes stay holes; a failure leaves nothing.',
    request: { params: chatParams, body: jsonBody('Which, and where to.', saveSchema) },
    responses: answers,
  },
  async (context) => {
    const { path: from, root, to, mode, max_bytes } = context.req.valid('json');
    const { files, most } = await placeOf(context, context.req.valid('param').chat, root);
    const options = { maxBytes: max_bytes ?? most, ...(mode !== undefined && { mode }) };
    await files.save(from, to, { ...options, signal: signalOf(context) });
    return context.json({ count: 1 }, 200);
  },
);

export const download = defineRoute(
  {
    ...common,
    path: `${path}/download`,
    summary: "Copy a folder out of a sandbox, to the host's machine; only on its own socket",
    description: 'Whole or not at all, into a folder that is not there yet. Holes of files stay holes.',
    request: { params: chatParams, body: jsonBody('Which, and where to.', downloadSchema) },
    responses: answers,
  },
  async (context) => {
    const { path: from, root, to, max_bytes } = context.req.valid('json');
    const { files, most } = await placeOf(context, context.req.valid('param').chat, root);
    const options = { maxBytes: max_bytes ?? most, signal: signalOf(context) };
    return context.json({ count: await files.download(from, to, options) }, 200);
  },
);

export const upload = defineRoute(
  {
    ...common,
    path: `${path}/upload`,
    summary: "Copy a file or a folder of the host's machine into a sandbox; only on its own socket",
    request: { params: chatParams, body: jsonBody('Which, and where to.', uploadSchema) },
    responses: answers,
  },
  async (context) => {
    const { from, path: to, root } = context.req.valid('json');
    const { files } = await placeOf(context, context.req.valid('param').chat, root);
    const signal = signalOf(context);
    const facts = await stat(from).catch((cause) => {
      throw new GeodeError('file_not_found', `${from} on this machine: ${cause.message}.`, { cause });
    });
    if (facts.isDirectory()) return context.json({ count: await files.upload(from, to, { signal }) }, 200);
    await files.write(to, createReadStream(from), { mode: facts.mode & 0o777, signal });
    return context.json({ count: 1 }, 200);
  },
);

/** The disk limit of a sandbox bounds what a copy of it may take here. */
async function placeOf(context: Context<ApiEnv>, chat: string, root: boolean | undefined) {
  if (context.var.caller.actsFor !== 'anyone')
    throw new GeodeError('forbidden', "Files of the host's machine are copied on its own socket only");
  const sandbox = await startedSandbox(context, chat);
  const most = sandbox.limits.diskBytes ?? defaultLimits.diskBytes;
  return { files: root === true ? sandbox.rootFiles : sandbox.files, most };
}
