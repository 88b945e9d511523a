/** Sandboxes that stay, as they go over the wire. */

import { z } from 'zod';
import { runtimeNames } from '../seams/runtime.ts';
import { grades, networks } from '../seams/sandbox.ts';
import { egressSchema } from './egress.ts';
import { chatOf } from './encoding.ts';
import { family } from './operation.ts';
import { endEvent, problemEvent } from './problem.ts';

/**
 * A chat in a path. Any name can be written there percent-encoded, apart from `.`, `..` and those that begin with `~`:
 * these are written as `~` and their UTF-8 bytes in base64url.
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
    'The chat, which names the sandbox among those of its user. One that is `.` or `..` or begins with `~` is written as `~` and its UTF-8 bytes in base64url.',
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
    disk_bytes: amount.describe('Of the workspace.'),
  })
  .describe('Left out: the default. null: no limit.')
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
    state: z.enum(['running', 'paused', 'stopped', 'unknown']),
    runtime: runtimeSchema,
    grade: gradeSchema.optional(),
    image: z.string().nullable(),
    labels: labelsSchema,
    created_at: z.number().describe('Times are in ms since 1970.'),
    active_at: z.number().describe('When the last activity ended; now, while something goes on.'),
    kept_until: z.number(),
    thinking_until: z.number(),
  })
  .meta({ id: 'Sandbox' });

const sandboxesSchema = z.object({ sandboxes: z.array(sandboxSchema) }).meta({ id: 'Sandboxes' });

const sandboxListQuery = z.strictObject({
  users: z
    .enum(['all'])
    .optional()
    .describe("Those of all users: only on the host's own socket, for whoever runs it."),
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
  .strictObject({ ms: z.int().nonnegative().describe('From now. Less than it has already changes nothing.') })
  .meta({ id: 'Extend' });
const thinkingSchema = z
  .strictObject({ until: z.int().nonnegative().describe('In ms since 1970; 0 takes it back.') })
  .meta({ id: 'Thinking' });
const renameSchema = z.strictObject({ to: z.string().min(1) }).meta({ id: 'Rename' });
const newLabelsSchema = z.strictObject({ labels: labelsSchema }).meta({ id: 'NewLabels' });
const forkSchema = z
  .strictObject({ to: z.string().min(1), snapshot: z.string().optional() })
  .meta({ id: 'Fork' });
const newPreviewSchema = z
  .strictObject({ port: z.int().min(1).max(65_535).meta({ example: 8000 }) })
  .meta({ id: 'NewPreview' });
const previewSchema = z
  .object({
    port: z.int(),
    url: z.string().describe('With its token: whoever has it sees the port.'),
    path_url: z
      .string()
      .describe('The same without a name of its own; its pages have no origin and no cookies.'),
  })
  .meta({ id: 'Preview' });
export const removedSchema = z
  .object({ removed: z.boolean().describe('False: there was none.') })
  .meta({ id: 'Removed' });

const part = z.object({ used: z.number(), limit: z.number().nullable() });

const counted = part.extend({
  soft: z.boolean().describe('The guest holds the limit by counting: it may be exceeded for a moment.'),
});

export const usageSchema = z
  .object({
    at: z.number(),
    cpus: part.describe('Processors in use since the usage before: 1.5 is one and a half.'),
    memory_bytes: counted,
    pids: counted.describe('Tasks, threads included.'),
    disk_bytes: z.object({ used: z.number(), limit: z.number() }).nullable(),
    processes: z.number(),
    oom_kills: z.number(),
  })
  .meta({ id: 'Usage' });

const usageQuery = z.strictObject({
  every_ms: z.coerce.number().int().min(100).max(3_600_000).default(1000),
});

const usageEventSchema = z
  .discriminatedUnion('type', [usageSchema.extend({ type: z.literal('usage') }), endEvent, problemEvent])
  .meta({ id: 'UsageEvent' });

export type PullEvent = z.infer<typeof pullEventSchema>;

export const sandboxes = family({
  create: {
    route: 'POST /api/v1/sandboxes',
    tag: 'sandboxes',
    scope: 'sandboxes:write',
    summary: 'Get the sandbox of a chat, made or started if need be',
    description:
      'One that is there must agree with what is asked for. With `Accept: text/event-stream` a pull of its image is reported.',
    body: { says: 'Which chat, and what the sandbox shall be.', schema: newSandboxSchema },
    answer: { says: 'It runs.', schema: sandboxSchema },
    stream: { says: 'It runs.', schema: createEventSchema },
    reaches: 'sandbox',
  },
  list: {
    route: 'GET /api/v1/sandboxes',
    tag: 'sandboxes',
    scope: 'sandboxes:read',
    summary: 'List the sandboxes',
    query: sandboxListQuery,
    answer: { says: 'Running or not.', schema: sandboxesSchema, field: 'sandboxes' },
  },
  inspect: {
    route: 'GET /api/v1/sandboxes/{chat}',
    tag: 'sandboxes',
    scope: 'sandboxes:read',
    summary: 'Look at a sandbox',
    params: chatParams,
    answer: { says: 'As it is now.', schema: sandboxSchema },
    reaches: 'sandbox',
  },
  remove: {
    route: 'DELETE /api/v1/sandboxes/{chat}',
    tag: 'sandboxes',
    scope: 'sandboxes:write',
    summary: 'Remove a sandbox for good, with its workspace',
    params: chatParams,
    answer: { says: 'Whether there was one.', schema: removedSchema, field: 'removed' },
    reaches: 'sandbox',
  },
  start: {
    route: 'POST /api/v1/sandboxes/{chat}/start',
    tag: 'sandboxes',
    scope: 'sandboxes:write',
    summary: 'Start a sandbox',
    params: chatParams,
    answer: { says: 'As it is now.', schema: sandboxSchema },
    reaches: 'sandbox',
  },
  stop: {
    route: 'POST /api/v1/sandboxes/{chat}/stop',
    tag: 'sandboxes',
    scope: 'sandboxes:write',
    summary: 'Stop a sandbox; its files stay',
    params: chatParams,
    answer: { says: 'As it is now.', schema: sandboxSchema },
    reaches: 'sandbox',
  },
  pause: {
    route: 'POST /api/v1/sandboxes/{chat}/pause',
    tag: 'sandboxes',
    scope: 'sandboxes:write',
    summary: 'Stop the time of everything in a sandbox',
    params: chatParams,
    answer: { says: 'As it is now.', schema: sandboxSchema },
    reaches: 'sandbox',
  },
  resume: {
    route: 'POST /api/v1/sandboxes/{chat}/resume',
    tag: 'sandboxes',
    scope: 'sandboxes:write',
    summary: 'Let a paused sandbox go on',
    params: chatParams,
    answer: { says: 'As it is now.', schema: sandboxSchema },
    reaches: 'sandbox',
  },
  extend: {
    route: 'POST /api/v1/sandboxes/{chat}/extend',
    tag: 'sandboxes',
    scope: 'sandboxes:write',
    summary: 'Keep a sandbox from being stopped for a time',
    params: chatParams,
    body: { says: 'The change.', schema: extendSchema },
    answer: { says: 'As it is now.', schema: sandboxSchema },
    reaches: 'sandbox',
  },
  thinking: {
    route: 'POST /api/v1/sandboxes/{chat}/thinking',
    tag: 'sandboxes',
    scope: 'sandboxes:write',
    summary: 'Say that the caller will come back by then',
    params: chatParams,
    body: { says: 'The change.', schema: thinkingSchema },
    answer: { says: 'As it is now.', schema: sandboxSchema },
    reaches: 'sandbox',
  },
  rename: {
    route: 'POST /api/v1/sandboxes/{chat}/rename',
    tag: 'sandboxes',
    scope: 'sandboxes:write',
    summary: 'Give a sandbox to another chat',
    params: chatParams,
    body: { says: 'The change.', schema: renameSchema },
    answer: { says: 'As it is now.', schema: sandboxSchema },
    reaches: 'sandbox',
  },
  label: {
    route: 'POST /api/v1/sandboxes/{chat}/labels',
    tag: 'sandboxes',
    scope: 'sandboxes:write',
    summary: 'Replace the labels of a sandbox',
    params: chatParams,
    body: { says: 'The change.', schema: newLabelsSchema },
    answer: { says: 'As it is now.', schema: sandboxSchema },
    reaches: 'sandbox',
  },
  fork: {
    route: 'POST /api/v1/sandboxes/{chat}/fork',
    tag: 'sandboxes',
    scope: 'sandboxes:write',
    summary: 'Make another sandbox with a copy of the files, as they are or were in a snapshot',
    params: chatParams,
    body: { says: 'The change.', schema: forkSchema },
    answer: { says: 'As it is now.', schema: sandboxSchema },
    reaches: 'sandbox',
  },
  usage: {
    route: 'GET /api/v1/sandboxes/{chat}/usage',
    tag: 'sandboxes',
    scope: 'sandboxes:read',
    summary: 'Watch what a sandbox uses of CPU, memory, processes and disk',
    description: 'Ends with the sandbox. One that is paused is left out until it goes on.',
    params: chatParams,
    query: usageQuery,
    stream: { says: 'One event for each look.', schema: usageEventSchema, again: ['end'] },
    reaches: 'sandbox',
  },
  preview: {
    route: 'POST /api/v1/sandboxes/{chat}/ports',
    tag: 'sandboxes',
    scope: 'sandboxes:write',
    summary: 'Show a server in the sandbox on the machine of the host',
    description:
      'The URL leads there until the sandbox stops, for whoever has it: its token becomes a cookie. HTTP, streams and WebSockets pass.',
    params: chatParams,
    body: { says: 'The port that the server listens on.', schema: newPreviewSchema },
    answer: { says: 'Where it is seen.', schema: previewSchema },
    reaches: 'sandbox',
  },
});
