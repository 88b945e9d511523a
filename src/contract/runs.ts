/** Code that runs once, in wire format. */

import { z } from 'zod';
import { bytesSchema, bytesShape } from './bytes.ts';
import { egressSchema, noNetworkSchema } from './egress.ts';
import { family } from './operation.ts';
import { problemEvent } from './problem.ts';
import { exitSchema } from './processes.ts';
import { envSchema, gradeSchema, limitsSchema, pullProgress, runtimeSchema } from './sandboxes.ts';

export const runSchema = z
  .strictObject({
    language: z.string().min(1).meta({ example: 'python' }),
    code: z.string().meta({ example: 'print(6 * 7)' }),
    argv: z.array(z.string()).optional(),
    stdin: bytesSchema.optional(),
    env: envSchema.optional(),
    files: z
      .record(z.string(), bytesSchema)
      .optional()
      .describe('File content by path, below the folder of the code.'),
    artifacts: z.array(z.string()).optional().describe('Files, folders or globs to return.'),
    cwd: z.string().optional(),
    timeout_ms: z.number().positive().nullable().optional(),
    limits: limitsSchema.optional(),
    image: z.string().min(1).optional(),
    runtime: runtimeSchema.optional(),
    minimum_grade: gradeSchema.optional(),
    egress: egressSchema.optional(),
    network: noNetworkSchema.optional(),
    output_limit_bytes: z
      .int()
      .nonnegative()
      .max(64 * 1024 ** 2)
      .optional(),
  })
  .meta({ id: 'Run' });

const sandbox = z.object({ id: z.string(), runtime: z.string(), grade: gradeSchema, warm: z.boolean() });
const image = z.object({ name: z.string(), id: z.string(), digest: z.string().nullable() }).nullable();
const timings = z.object({
  pull_ms: z.number(),
  queue_ms: z.number(),
  sandbox_ms: z.number(),
  prepare_ms: z.number(),
  total_ms: z.number(),
});

export const denialSchema = z
  .object({
    host: z.string(),
    port: z.int(),
    at: z.number(),
    rule: z.string(),
    reason: z.string(),
    ask: z.string().describe('The command that allows it.'),
  })
  .meta({ id: 'Denial' });

export const runEventSchema = z
  .discriminatedUnion('type', [
    pullProgress,
    z.object({ type: z.literal('queue-place'), place: z.int() }),
    z.object({ type: z.literal('sandbox-ready'), language: z.string(), sandbox, image }),
    z.object({ type: z.literal('compile-start') }),
    z.object({ type: z.literal('compile-output'), stream: z.enum(['stdout', 'stderr']), ...bytesShape }),
    exitSchema.extend({ type: z.literal('compile-exit') }),
    z.object({ type: z.literal('code-start') }),
    z.object({ type: z.literal('stdout'), ...bytesShape }),
    z.object({ type: z.literal('stderr'), ...bytesShape }),
    exitSchema.extend({ type: z.literal('exit') }),
    z.object({ type: z.literal('artifact'), path: z.string(), ...bytesShape }),
    z.object({ type: z.literal('artifact-missed'), path: z.string(), reason: z.string() }),
    z.object({ type: z.literal('egress-denied'), denied: z.array(denialSchema) }),
    timings.extend({ type: z.literal('end') }),
    problemEvent,
  ])
  .meta({ id: 'RunEvent' });

const endedShape = {
  ...exitSchema.shape,
  stdout: z.string(),
  stderr: z.string(),
  truncated: z.boolean(),
  dropped: z.object({ stdout: z.int(), stderr: z.int() }),
};

const runResultSchema = z
  .object({
    ...endedShape,
    stdout_base64: z.base64().optional().describe('The bytes of stdout, if they are not UTF-8.'),
    stderr_base64: z.base64().optional(),
    outcome: z.enum(['succeeded', 'failed', 'killed', 'timed-out', 'out-of-memory', 'compile-failed']),
    success: z.boolean(),
    language: z.string(),
    compile: z.object(endedShape).nullable(),
    artifacts: z.array(z.object({ path: z.string(), ...bytesShape })),
    missed_artifacts: z.array(z.object({ path: z.string(), reason: z.string() })),
    sandbox,
    image,
    timings,
    denied: z.array(denialSchema).optional().describe('Refused network requests.'),
  })
  .meta({ id: 'RunResult' });

const runListQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(200).default(50),
  before: z.coerce
    .number()
    .int()
    .min(0)
    .optional()
    .describe(
      'Only runs started before this time. Use the `at` of the last run of a page to get the next page.',
    ),
});

const runParams = z.object({ id: z.string().min(1).max(100) });

const runSummarySchema = z
  .object({
    id: z.string(),
    at: z.number().describe('Start time.'),
    language: z.string(),
    outcome: z
      .enum(['succeeded', 'failed', 'killed', 'timed-out', 'out-of-memory', 'compile-failed', 'stopped'])
      .describe('stopped: ended by its caller or by a failure before it exited.'),
    exit_code: z.int().nullable(),
    signal: z.string().nullable(),
    duration_ms: z.number(),
    runtime: z.string(),
    grade: z.string(),
    title: z.string().describe('The first line of the code.'),
  })
  .meta({ id: 'RunSummary' });

const runListSchema = z.object({ runs: z.array(runSummarySchema) }).meta({ id: 'RunList' });

const runRecordSchema = runSummarySchema
  .extend({
    code: z.string().describe('Secrets removed; at most 64 kB.'),
    output: z
      .array(z.object({ stream: z.enum(['stdout', 'stderr']), text: z.string() }))
      .describe('Output of program and compiler in its order; at most 64 kB.'),
    dropped_bytes: z.int().describe('Bytes of output that were not kept.'),
    artifacts: z.array(z.string()).describe('Paths of returned files, without content.'),
    denied: z.array(z.string()).describe('Refused network requests, as host:port.'),
  })
  .meta({ id: 'RunRecord' });

export const runs = family({
  run: {
    route: 'POST /api/v1/runs',
    tag: 'runs',
    scope: 'runs',
    summary: 'Run code once in a fresh sandbox',
    description:
      'Returns the result, or events with `Accept: text/event-stream`; the last event is `end` or `problem`. If the caller disconnects, the run is killed.',
    body: { description: 'The code and its input.', schema: runSchema, limit: 'many' },
    answer: { description: 'The outcome. A failed program is a result too.', schema: runResultSchema },
    stream: { description: 'The outcome. A failed program is a result too.', schema: runEventSchema },
    reaches: 'sandbox',
  },
  list: {
    route: 'GET /api/v1/runs',
    tag: 'runs',
    scope: 'runs',
    summary: 'List finished runs, newest first',
    query: runListQuery,
    answer: { description: 'At most `runs.keep` runs.', schema: runListSchema, field: 'runs' },
  },
  get: {
    route: 'GET /api/v1/runs/{id}',
    tag: 'runs',
    scope: 'runs',
    summary: 'Get a finished run with code and output',
    params: runParams,
    answer: { description: 'The run.', schema: runRecordSchema },
  },
});
