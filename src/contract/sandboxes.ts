/** Persistent sandboxes, in wire format. */

import { z } from 'zod';
import { runtimeNames, sandboxStates } from '../seams/runtime.ts';
import { grades, networks } from '../seams/sandbox.ts';
import { egressSchema } from './egress.ts';
import { chatOf } from './encoding.ts';
import { family } from './operation.ts';
import { problemEvent } from './problem.ts';
import { usageEventSchema, usageQuery } from './sandbox-usage.ts';

/**
 * A chat name in a path. Any name can be percent-encoded, except `.`, `..` and names that start with `~`: these are
 * written as `~` and their UTF-8 bytes in base64url.
 */
export const chatSchema = z
  .string()
  .min(1)
  .transform((segment, context) => {
    const name = chatOf(segment);
    if (name !== undefined) return name;
    context.addIssue({ code: 'custom', message: 'is not base64url of UTF-8 behind the ~' });
    return z.NEVER;
  })
  .describe(
    'The name of the sandbox (its chat). Write a name that is `.` or `..` or starts with `~` as `~` plus its UTF-8 bytes in base64url.',
  )
  .meta({ example: 'demo' });

export const chatParams = z.object({ chat: chatSchema });

const amount = z.number().nonnegative().nullable().optional();

export const limitsSchema = z
  .strictObject({
    memory_bytes: amount,
    cpus: amount,
    pids: amount,
    open_files: amount,
    disk_bytes: amount.describe('Disk limit of the workspace.'),
  })
  .describe('Default: from the config. null: no limit.')
  .meta({ id: 'Limits' });

export const envSchema = z.record(z.string(), z.string()).meta({ example: { LANG: 'C.UTF-8' } });
const labelsSchema = z.record(z.string(), z.string()).meta({ example: { project: 'demo' } });
export const runtimeSchema = z.enum(runtimeNames);
export const gradeSchema = z.enum(grades);

const specShape = {
  runtime: runtimeSchema.optional(),
  image: z.string().min(1).max(1000).optional(),
  env: envSchema.optional(),
  labels: labelsSchema.optional(),
  limits: limitsSchema.optional(),
  mounts: z
    .array(
      z.strictObject({
        source: z.string().describe('A folder or file on the machine of the host, below an allowed root.'),
        target: z.string(),
        writable: z.boolean().optional(),
      }),
    )
    .max(100)
    .optional(),
  network: z.enum(networks).optional(),
  minimum_grade: gradeSchema.optional(),
  root_access: z.boolean().optional(),
  lease_ms: z.number().positive().nullable().optional(),
  egress: egressSchema.optional(),
};

const newSandboxSchema = z
  .strictObject({ chat: z.string().min(1).meta({ example: 'demo' }), ...specShape })
  .meta({ id: 'NewSandbox' });

const sandboxSchema = z
  .object({
    id: z.string(),
    user: z.string(),
    chat: z.string(),
    state: z.enum(sandboxStates),
    runtime: runtimeSchema,
    grade: gradeSchema.optional(),
    image: z.string().nullable(),
    labels: labelsSchema,
    created_at: z.number().describe('Times are in ms since 1970.'),
    active_at: z.number().describe('End of the last activity; the current time while it is active.'),
    kept_until: z.number(),
    thinking_until: z.number(),
    usage: z
      .object({ cpus: z.number(), memory_bytes: z.number(), memory_limit: z.number().nullable() })
      .optional()
      .describe('In a list with `usage`: average CPUs since the list before, and memory now.'),
  })
  .meta({ id: 'Sandbox' });

const sandboxesSchema = z.object({ sandboxes: z.array(sandboxSchema) }).meta({ id: 'Sandboxes' });

const sandboxListQuery = z.strictObject({
  users: z
    .enum(['all'])
    .optional()
    .describe("Of all users: only on the host's own socket, for the operator."),
  usage: z
    .enum(['true', 'false'])
    .default('false')
    .transform((value) => value === 'true')
    .describe('Adds CPU and memory of the running sandboxes that answer at once.'),
});

const pullProgress = z.object({
  type: z.literal('pull-progress'),
  image: z.string(),
  received_bytes: z.number(),
  total_bytes: z.number(),
  status: z.string(),
});

const createEventSchema = z
  .discriminatedUnion('type', [
    pullProgress,
    sandboxSchema.extend({ type: z.literal('sandbox-ready') }),
    problemEvent,
  ])
  .meta({ id: 'CreateEvent' });

export const pullSchema = z
  .strictObject({ image: z.string().min(1).max(1000), runtime: runtimeSchema.optional() })
  .meta({ id: 'Pull' });
const imageSchema = z
  .object({ id: z.string(), digest: z.string().nullable(), size_bytes: z.number() })
  .meta({ id: 'Image' });
export const pullEventSchema = z
  .discriminatedUnion('type', [
    pullProgress,
    imageSchema.extend({ type: z.literal('image-ready') }),
    problemEvent,
  ])
  .meta({ id: 'PullEvent' });
export { pullProgress };

const extendSchema = z
  .strictObject({
    ms: z.int().nonnegative().describe('From now. A shorter time than it already has changes nothing.'),
  })
  .meta({ id: 'Extend' });
const thinkingSchema = z
  .strictObject({ until: z.int().nonnegative().describe('In ms since 1970; 0 removes it.') })
  .meta({ id: 'Thinking' });
const renameSchema = z.strictObject({ to: z.string().min(1) }).meta({ id: 'Rename' });
const newLabelsSchema = z.strictObject({ labels: labelsSchema }).meta({ id: 'NewLabels' });
const forkSchema = z
  .strictObject({
    to: z.string().min(1),
    snapshot: z.string().optional(),
    live: z.boolean().optional().describe('Copy the processes and their memory too. Needs gVisor.'),
    checkpoint: z
      .string()
      .optional()
      .describe('With `live`: the checkpoint to copy, in place of this moment.'),
  })
  .meta({ id: 'Fork' });
const newPreviewSchema = z
  .strictObject({ port: z.int().min(1).max(65_535).meta({ example: 8000 }) })
  .meta({ id: 'NewPreview' });
const previewSchema = z
  .object({
    port: z.int(),
    url: z.string().describe('The URL with a token that works for five minutes and becomes a cookie.'),
    path_url: z
      .string()
      .describe(
        'The same by path instead of by host name; its pages have no origin and no cookies. It ends after 15 minutes without a request.',
      ),
  })
  .meta({ id: 'Preview' });
export const removedSchema = z
  .object({ removed: z.boolean().describe('false: there was no such sandbox.') })
  .meta({ id: 'Removed' });

export const sandboxes = family({
  create: {
    route: 'POST /api/v1/sandboxes',
    tag: 'sandboxes',
    scope: 'sandboxes:write',
    summary: 'Get or create the sandbox of a chat, and start it',
    description:
      'An existing sandbox must match the request. With `Accept: text/event-stream`, image pulls are reported.',
    body: { description: 'The chat and the settings of the sandbox.', schema: newSandboxSchema },
    answer: { description: 'The running sandbox.', schema: sandboxSchema },
    stream: { description: 'The running sandbox.', schema: createEventSchema },
    reaches: 'sandbox',
  },
  list: {
    route: 'GET /api/v1/sandboxes',
    tag: 'sandboxes',
    scope: 'sandboxes:read',
    summary: 'List sandboxes',
    query: sandboxListQuery,
    answer: { description: 'All sandboxes, running or not.', schema: sandboxesSchema, field: 'sandboxes' },
  },
  inspect: {
    route: 'GET /api/v1/sandboxes/{chat}',
    tag: 'sandboxes',
    scope: 'sandboxes:read',
    summary: 'Get a sandbox',
    params: chatParams,
    answer: { description: 'The sandbox.', schema: sandboxSchema },
    reaches: 'sandbox',
  },
  remove: {
    route: 'DELETE /api/v1/sandboxes/{chat}',
    tag: 'sandboxes',
    scope: 'sandboxes:write',
    summary: 'Remove a sandbox and its workspace',
    params: chatParams,
    answer: { description: 'Whether there was such a sandbox.', schema: removedSchema, field: 'removed' },
    reaches: 'sandbox',
  },
  start: {
    route: 'POST /api/v1/sandboxes/{chat}/start',
    tag: 'sandboxes',
    scope: 'sandboxes:write',
    summary: 'Start a sandbox',
    params: chatParams,
    answer: { description: 'The sandbox.', schema: sandboxSchema },
    reaches: 'sandbox',
  },
  stop: {
    route: 'POST /api/v1/sandboxes/{chat}/stop',
    tag: 'sandboxes',
    scope: 'sandboxes:write',
    summary: 'Stop a sandbox and keep its files',
    params: chatParams,
    answer: { description: 'The sandbox.', schema: sandboxSchema },
    reaches: 'sandbox',
  },
  pause: {
    route: 'POST /api/v1/sandboxes/{chat}/pause',
    tag: 'sandboxes',
    scope: 'sandboxes:write',
    summary: 'Pause a sandbox',
    params: chatParams,
    answer: { description: 'The sandbox.', schema: sandboxSchema },
    reaches: 'sandbox',
  },
  hibernate: {
    route: 'POST /api/v1/sandboxes/{chat}/hibernate',
    tag: 'sandboxes',
    scope: 'sandboxes:write',
    summary: 'Save the memory of a sandbox on disk and free it',
    description: 'The next use continues every process. Needs gVisor.',
    params: chatParams,
    answer: { description: 'The sandbox.', schema: sandboxSchema },
    reaches: 'sandbox',
  },
  resume: {
    route: 'POST /api/v1/sandboxes/{chat}/resume',
    tag: 'sandboxes',
    scope: 'sandboxes:write',
    summary: 'Resume a paused sandbox',
    params: chatParams,
    answer: { description: 'The sandbox.', schema: sandboxSchema },
    reaches: 'sandbox',
  },
  extend: {
    route: 'POST /api/v1/sandboxes/{chat}/extend',
    tag: 'sandboxes',
    scope: 'sandboxes:write',
    summary: 'Keep an idle sandbox running for some time',
    params: chatParams,
    body: { description: 'The change.', schema: extendSchema },
    answer: { description: 'The sandbox.', schema: sandboxSchema },
    reaches: 'sandbox',
  },
  thinking: {
    route: 'POST /api/v1/sandboxes/{chat}/thinking',
    tag: 'sandboxes',
    scope: 'sandboxes:write',
    summary: 'Announce when the caller will return',
    params: chatParams,
    body: { description: 'The change.', schema: thinkingSchema },
    answer: { description: 'The sandbox.', schema: sandboxSchema },
    reaches: 'sandbox',
  },
  rename: {
    route: 'POST /api/v1/sandboxes/{chat}/rename',
    tag: 'sandboxes',
    scope: 'sandboxes:write',
    summary: 'Rename a sandbox',
    params: chatParams,
    body: { description: 'The change.', schema: renameSchema },
    answer: { description: 'The sandbox.', schema: sandboxSchema },
    reaches: 'sandbox',
  },
  label: {
    route: 'POST /api/v1/sandboxes/{chat}/labels',
    tag: 'sandboxes',
    scope: 'sandboxes:write',
    summary: 'Replace the labels of a sandbox',
    params: chatParams,
    body: { description: 'The change.', schema: newLabelsSchema },
    answer: { description: 'The sandbox.', schema: sandboxSchema },
    reaches: 'sandbox',
  },
  fork: {
    route: 'POST /api/v1/sandboxes/{chat}/fork',
    tag: 'sandboxes',
    scope: 'sandboxes:write',
    summary: 'Copy a sandbox with its files',
    params: chatParams,
    body: { description: 'The change.', schema: forkSchema },
    answer: { description: 'The new sandbox.', schema: sandboxSchema },
    reaches: 'sandbox',
  },
  usage: {
    route: 'GET /api/v1/sandboxes/{chat}/usage',
    tag: 'sandboxes',
    scope: 'sandboxes:read',
    summary: 'Stream CPU, memory, process and disk use',
    description: 'Ends with the sandbox. Sends nothing while it is paused.',
    params: chatParams,
    query: usageQuery,
    stream: { description: 'One event for each measurement.', schema: usageEventSchema, again: ['end'] },
    reaches: 'sandbox',
  },
  preview: {
    route: 'POST /api/v1/sandboxes/{chat}/ports',
    tag: 'sandboxes',
    scope: 'sandboxes:write',
    summary: 'Open a port of a sandbox at a local URL',
    description:
      'The URL works for five minutes. Its token becomes a cookie, which works until the sandbox stops. HTTP, streams and WebSockets work.',
    params: chatParams,
    body: { description: 'The port of the server in the sandbox.', schema: newPreviewSchema },
    answer: { description: 'The URL.', schema: previewSchema },
    reaches: 'sandbox',
  },
});
