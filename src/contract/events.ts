/** The events of a host, in wire format. */
import { z } from 'zod';
import { approvalDecisions, approvalKinds } from '../seams/approval.ts';
import { egressModes } from '../seams/egress.ts';
import { solveOutcomes } from '../seams/solve.ts';
import { family } from './operation.ts';
import { problemEvent } from './problem.ts';
import { exitSchema } from './processes.ts';
import { usageSchema } from './sandbox-usage.ts';

const eventsQuery = z.strictObject({
  after: z.coerce
    .number()
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .describe('Return events after this number (same as `Last-Event-ID`). Default: only new events.'),
  last: z.coerce
    .number()
    .int()
    .min(0)
    .max(1000)
    .optional()
    .describe('Without `after`: start this many numbers before the newest.'),
  follow: z
    .enum(['true', 'false'])
    .default('true')
    .transform((value) => value === 'true')
    .describe('false: end after the stored events.'),
  usage_ms: z.coerce
    .number()
    .int()
    .min(250)
    .max(60_000)
    .optional()
    .describe('Over a WebSocket: how often to send resource use. Default: never.'),
  users: z
    .enum(['all'])
    .optional()
    .describe("Of all users: only on the host's own socket, for the operator."),
});

const ofSandbox = { sandbox: z.string(), chat: z.string() };
const approval = {
  approval: z.string(),
  kind: z.enum(approvalKinds),
  sandbox: z.string().nullable(),
  chat: z.string().nullable(),
};
const schedule = { schedule: z.string(), chat: z.string() };
const numbered = { seq: z.int(), at: z.number(), user: z.string() };
const event = <T extends string, Shape extends z.ZodRawShape>(type: T, shape: Shape) =>
  z.object({ type: z.literal(type), ...numbered, ...shape });

const hostEventSchema = z
  .union([
    event('sandbox-start', { ...ofSandbox, made: z.boolean() }),
    event('sandbox-stop', { ...ofSandbox, cause: z.enum(['asked', 'idle', 'ended']) }),
    event('sandbox-pause', ofSandbox),
    event('sandbox-checkpoint', { ...ofSandbox, checkpoint: z.string() }),
    event('sandbox-fork', { ...ofSandbox, from: z.string() }),
    event('sandbox-hibernate', { ...ofSandbox, cause: z.enum(['asked', 'idle']) }),
    event('sandbox-wake', ofSandbox),
    event('sandbox-resume', ofSandbox),
    event('sandbox-remove', ofSandbox),
    event('sandbox-rename', { ...ofSandbox, from: z.string() }),
    event('process-start', { ...ofSandbox, process: z.string(), program: z.string() }),
    event('process-exit', { ...ofSandbox, process: z.string(), ...exitSchema.shape }),
    event('egress-denied', {
      sandbox: z.string(),
      chat: z.string().nullable().describe('null for a run.'),
      host: z.string(),
      port: z.int(),
      rule: z.string().describe('The rule or mode that refused it.'),
    }),
    event('run-start', { run: z.string(), language: z.string() }),
    event('run-end', {
      run: z.string(),
      language: z.string(),
      exit_code: z.int().nullable(),
      duration_ms: z.number(),
    }),
    event('cell-end', { context: z.string(), status: z.string() }),
    event('turn-start', { chat: z.string(), turn: z.string(), driver: z.string() }),
    event('turn-end', {
      chat: z.string(),
      turn: z.string(),
      driver: z.string(),
      outcome: z.enum(['done', 'interrupted', 'limit', 'error']),
    }),
    event('tools-open', { ...ofSandbox, tools: z.array(z.string()) }),
    event('tools-close', ofSandbox),
    event('tool-call', {
      ...ofSandbox,
      tool: z.string(),
      outcome: z.string().describe('ok, or an error code.'),
      duration_ms: z.number(),
      calls: z.int().optional().describe('Number of calls that this event stands for.'),
    }),
    event('image-build', {
      image: z.string(),
      outcome: z.string().describe('ok, or an error code.'),
      digest: z.string().nullable(),
    }),
    event('image-remove', { image: z.string() }),
    event('entry-stored', { key: z.string(), outcome: z.enum(['created', 'updated', 'merged']) }),
    event('entries-stored', { count: z.int() }),
    event('entry-removed', { key: z.string() }),
    event('egress-default', {
      mode: z.enum(egressModes).nullable().describe('null: the default of the config applies again.'),
    }),
    event('sender-paired', { channel: z.string(), sender: z.string() }),
    event('schedule-add', schedule),
    event('schedule-remove', schedule),
    event('schedule-run', { ...schedule, is_skipped: z.boolean() }),
    event('approval-asked', approval),
    event('approval-decided', {
      ...approval,
      state: z.enum(['decided', 'expired', 'withdrawn']),
      decision: z.enum(approvalDecisions),
    }),
    event('solve-start', { solve: z.string() }),
    event('attempt-end', { solve: z.string(), attempt: z.int(), state: z.enum(['passed', 'failed']) }),
    event('solve-end', {
      solve: z.string(),
      outcome: z.enum([...solveOutcomes, 'interrupted']).describe('interrupted: it can be resumed.'),
    }),
    event('crystal-change', {
      key: z.string(),
      change: z.enum(['created', 'confirmed', 'doubted', 'edited', 'removed']),
    }),
    event('upgrade', { from: z.string(), to: z.string() }),
    event('rollback', { from: z.string(), to: z.string() }),
    event('backup-create', { backup: z.string(), bytes: z.int() }),
    event('provider-connect', { model: z.string().describe('The new default model: SERVICE/MODEL.') }),
    event('webhook-change', {
      webhook: z.string(),
      change: z.enum(['created', 'changed', 'removed', 'disabled']),
    }),
    event('key-create', { key: z.string() }),
    event('key-revoke', { key: z.string() }),
    z
      .object({ type: z.literal('ready'), seq: z.int() })
      .describe('Sent first: events after this number follow.'),
    z
      .object({ type: z.literal('gap'), seq: z.int() })
      .describe('Older events are gone: reload everything that is shown.'),
    problemEvent,
  ])
  .meta({ id: 'HostEvent' });

/** Over a WebSocket: the same events, and the usage of each sandbox. */
const liveSchema = z.union([
  hostEventSchema,
  usageSchema.extend({ type: z.literal('usage'), chat: z.string() }),
]);

export const events = family({
  read: {
    route: 'GET /api/v1/events',
    tag: 'server',
    scope: 'any',
    summary: 'Stream events of the caller',
    description:
      'The id of each event is its number. After a lost connection, send the last id to get all later events; a `gap` event reports deleted ones. A key receives only events that its scopes can read. A WebSocket gets the same events as messages and, with `usage_ms`, the `usage` of each running sandbox.',
    query: eventsQuery,
    stream: { description: 'One event for each change.', schema: hostEventSchema, resumes: true, again: [] },
    socket: { fromServer: liveSchema },
  },
});
