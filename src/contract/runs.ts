/** Code executed once, as it goes over the wire. */

import { z } from 'zod';
import { bytesSchema, bytesShape } from './bytes.ts';
import { egressSchema } from './egress.ts';
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
      .describe('Content by path, below the folder of the code.'),
    artifacts: z.array(z.string()).optional().describe('Paths, folders or globs of files to bring back.'),
    cwd: z.string().optional(),
    timeout_ms: z.number().positive().nullable().optional(),
    limits: limitsSchema.optional(),
    image: z.string().min(1).optional(),
    runtime: runtimeSchema.optional(),
    minimum_grade: gradeSchema.optional(),
    egress: egressSchema.optional(),
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
    ask: z.string().describe('The command that would allow it.'),
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
    stdout_base64: z.base64().optional().describe('The bytes of stdout, where they are not UTF-8.'),
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
    denied: z.array(denialSchema).optional().describe('What it tried to reach and was refused.'),
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
      'Only those that began before this time: the `at` of the last one of a page leads to the next.',
    ),
});

const runParams = z.object({ id: z.string().min(1).max(100) });

const runSummarySchema = z
  .object({
    id: z.string(),
    at: z.number().describe('When it began.'),
    language: z.string(),
    outcome: z
      .enum(['succeeded', 'failed', 'killed', 'timed-out', 'out-of-memory', 'compile-failed', 'stopped'])
      .describe('stopped: by its caller or by a failure, before it had an exit.'),
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
    code: z.string().describe('Without what looks like a secret; 64 kB at most.'),
    output: z
      .array(z.object({ stream: z.enum(['stdout', 'stderr']), text: z.string() }))
      .describe('Of the compiler too, in the order in which it came; 64 kB at most.'),
    dropped_bytes: z.int().describe('Of output, beyond what is kept.'),
    artifacts: z.array(z.string()).describe('Paths of files that were brought back; not their content.'),
    denied: z.array(z.string()).describe('What it was refused, as host:port.'),
  })
  .meta({ id: 'RunRecord' });

export type WireRunSummary = z.infer<typeof runSummarySchema>;
export type WireRunRecord = z.infer<typeof runRecordSchema>;
export type WireRunEvent = z.infer<typeof runEventSchema>;
export type WireRunResult = z.infer<typeof runResultSchema>;

export const runs = family({
  run: {
    route: 'POST /api/v1/runs',
    tag: 'runs',
    scope: 'runs',
    summary: 'Run code once, in a sandbox that nothing used before',
    description:
      'Answers with the result, or with `Accept: text/event-stream` with everything that happens, as it happens; the last event is `end` or `problem`. A caller that leaves ends the run.',
    body: { says: 'The code, and what it gets.', schema: runSchema, limit: 'many' },
    answer: { says: 'How it went: a program that fails is a result too.', schema: runResultSchema },
    stream: { says: 'How it went: a program that fails is a result too.', schema: runEventSchema },
    reaches: 'sandbox',
  },
  list: {
    route: 'GET /api/v1/runs',
    tag: 'runs',
    scope: 'runs',
    summary: 'List the runs of the caller that are over, the newest first',
    query: runListQuery,
    answer: { says: 'As many as are kept: `runs.keep`.', schema: runListSchema, field: 'runs' },
  },
  get: {
    route: 'GET /api/v1/runs/{id}',
    tag: 'runs',
    scope: 'runs',
    summary: 'Read a run that is over: its code, its output and how it ended',
    params: runParams,
    answer: { says: 'The run.', schema: runRecordSchema },
  },
});
