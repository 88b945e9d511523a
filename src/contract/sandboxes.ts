/** Sandboxes that stay, as they go over the wire. */
import { z } from 'zod';
import { runtimeNames } from '../core/runtime.ts';
import { grades, networks } from '../core/sandbox.ts';
import { egressSchema } from './egress.ts';
import { chatOf } from './encoding.ts';
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

export const newSandboxSchema = z
  .strictObject({ chat: z.string().min(1).meta({ example: 'demo' }), ...specShape })
  .meta({ id: 'NewSandbox' });

export const sandboxSchema = z
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

export const sandboxesSchema = z.object({ sandboxes: z.array(sandboxSchema) }).meta({ id: 'Sandboxes' });

export const sandboxListQuery = z.strictObject({
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

export const createEventSchema = z
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

export const extendSchema = z
  .strictObject({ ms: z.int().nonnegative().describe('From now. Less than it has already changes nothing.') })
  .meta({ id: 'Extend' });
export const thinkingSchema = z
  .strictObject({ until: z.int().nonnegative().describe('In ms since 1970; 0 takes it back.') })
  .meta({ id: 'Thinking' });
export const renameSchema = z.strictObject({ to: z.string().min(1) }).meta({ id: 'Rename' });
export const newLabelsSchema = z.strictObject({ labels: labelsSchema }).meta({ id: 'NewLabels' });
export const forkSchema = z
  .strictObject({ to: z.string().min(1), snapshot: z.string().optional() })
  .meta({ id: 'Fork' });
export const newPreviewSchema = z
  .strictObject({ port: z.int().min(1).max(65_535).meta({ example: 8000 }) })
  .meta({ id: 'NewPreview' });
export const previewSchema = z
  .object({
    port: z.int(),
    url: z.string().describe('With its token: whoever has it sees the port.'),
    path_url: z
      .string()
      .describe('The same without a name of its own; its pages have no origin and no cookies.'),
  })
  .meta({ id: 'Preview' });
export type WirePreview = z.infer<typeof previewSchema>;
export const removedSchema = z
  .object({ removed: z.boolean().describe('False: there was none.') })
  .meta({ id: 'Removed' });

const part = z.object({ used: z.number(), limit: z.number().nullable() });

const counted = part.extend({
  soft: z.boolean().describe('The guest holds the limit by counting: it may be exceeded for a moment.'),
});

const usageSchema = z
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

export const usageQuery = z.strictObject({
  every_ms: z.coerce.number().int().min(100).max(3_600_000).default(1000),
});

export const usageEventSchema = z
  .discriminatedUnion('type', [usageSchema.extend({ type: z.literal('usage') }), endEvent, problemEvent])
  .meta({ id: 'UsageEvent' });

export type CreateEvent = z.infer<typeof createEventSchema>;
export type PullEvent = z.infer<typeof pullEventSchema>;
export type UsageEvent = z.infer<typeof usageEventSchema>;
