/** Interpreters that keep their variables, in wire format. */

import { z } from 'zod';
import { family } from './operation.ts';
import { problemEvent } from './problem.ts';
import { exitSchema } from './processes.ts';
import { envSchema, gradeSchema, limitsSchema, runtimeSchema } from './sandboxes.ts';

const contextLanguageSchema = z.enum(['python', 'javascript']);

const newContextSchema = z
  .strictObject({
    language: contextLanguageSchema,
    chat: z
      .string()
      .min(1)
      .optional()
      .describe('Use the sandbox of this chat. Default: a fresh sandbox that is removed with the context.'),
    runtime: runtimeSchema.optional().describe('For a fresh sandbox, like image, limits and minimum_grade.'),
    image: z.string().min(1).optional(),
    limits: limitsSchema.optional(),
    minimum_grade: gradeSchema.optional(),
    cwd: z.string().optional(),
    env: envSchema.optional(),
    output_limit_bytes: z
      .int()
      .nonnegative()
      .max(64 * 1024 ** 2)
      .optional(),
    grace_ms: z.int().min(0).max(60_000).optional(),
  })
  .meta({ id: 'NewContext' });

const contextSchema = z
  .object({
    id: z.string(),
    language: contextLanguageSchema,
    sandbox: z.string().describe('Id of the sandbox that it runs in.'),
    chat: z.string().nullable(),
    runtime: z.string(),
    grade: gradeSchema,
    created_at: z.number(),
  })
  .meta({ id: 'Context' });
const contextsSchema = z.object({ contexts: z.array(contextSchema) }).meta({ id: 'Contexts' });

const contextParams = z.object({ id: z.string().regex(/^[0-9a-f]{24}$/) });

const contextRunSchema = z
  .strictObject({
    code: z.string(),
    timeout_ms: z.number().positive().nullable().optional(),
  })
  .meta({ id: 'ContextRun' });
const contextCheckSchema = z.strictObject({ code: z.string() }).meta({ id: 'ContextCheck' });
const checkedSchema = z
  .object({ state: z.enum(['complete', 'incomplete', 'invalid']) })
  .meta({ id: 'Checked' });
const interruptedSchema = z
  .object({ outcome: z.enum(['idle', 'stopped', 'ignored']) })
  .meta({ id: 'Interrupted' });

const richSchema = z
  .object({
    kind: z.enum(['display', 'value']),
    text: z.string(),
    html: z.string().optional(),
    markdown: z.string().optional(),
    latex: z.string().optional(),
    svg: z.string().optional(),
    png: z.base64().optional(),
    jpeg: z.base64().optional(),
    json: z.unknown().optional(),
    table: z
      .object({
        columns: z.array(z.string()),
        rows: z.array(z.array(z.union([z.string(), z.number(), z.boolean(), z.null()]))),
        total_rows: z.int(),
      })
      .optional(),
    omitted: z.array(z.string()),
  })
  .meta({ id: 'Rich' });
const errorSchema = z
  .object({ name: z.string(), message: z.string(), traceback: z.string() })
  .meta({ id: 'ContextError' });

const contextResultSchema = z
  .object({
    status: z.enum(['done', 'failed', 'interrupted', 'timed-out', 'ended']),
    stdout: z.string(),
    stderr: z.string(),
    results: z.array(richSchema),
    value: richSchema.nullable(),
    error: errorSchema.nullable(),
    exit: exitSchema.nullable(),
    interpreter: z.int(),
    dropped: z.object({ stdout: z.int(), stderr: z.int(), results: z.int() }),
    duration_ms: z.number(),
  })
  .meta({ id: 'ContextResult' });

const shownShapes = [
  z.object({ type: z.literal('stdout'), text: z.string() }),
  z.object({ type: z.literal('stderr'), text: z.string() }),
  z.object({ type: z.literal('result'), result: richSchema }),
  z.object({ type: z.literal('error'), error: errorSchema }),
] as const;

const cellsSchema = z
  .object({
    cells: z.array(
      z.object({
        number: z.int().describe('Counts from 1.'),
        code: z.string(),
        status: z.enum(['done', 'failed', 'interrupted', 'timed-out', 'ended', 'running', 'refused']),
        duration_ms: z.number(),
        pieces: z.array(z.discriminatedUnion('type', shownShapes)).describe('Its output, in order.'),
      }),
    ),
  })
  .meta({ id: 'ContextCells' });

const contextEventSchema = z
  .discriminatedUnion('type', [
    ...shownShapes,
    contextResultSchema.extend({ type: z.literal('end') }),
    problemEvent,
  ])
  .meta({ id: 'ContextEvent' });

export const contexts = family({
  open: {
    route: 'POST /api/v1/contexts',
    tag: 'contexts',
    scope: 'runs',
    summary: 'Open an interpreter that keeps its variables between runs',
    body: { description: 'The language and the place.', schema: newContextSchema },
    answer: { description: 'The open context.', schema: contextSchema, status: 201 },
    reaches: 'sandbox',
  },
  list: {
    route: 'GET /api/v1/contexts',
    tag: 'contexts',
    scope: 'runs',
    summary: 'List the open contexts',
    answer: { description: 'The contexts of the caller.', schema: contextsSchema, field: 'contexts' },
    reaches: 'sandbox',
  },
  run: {
    route: 'POST /api/v1/contexts/{id}/runs',
    tag: 'contexts',
    scope: 'runs',
    summary: 'Run code in a context',
    description:
      'Answers with the result, or with `Accept: text/event-stream` with what happens, as it happens; the last event is `end` or `problem`. A caller that leaves stops the code; the variables stay.',
    params: contextParams,
    body: { description: 'The code.', schema: contextRunSchema, limit: 'many' },
    answer: {
      description: 'The outcome. Code that raises an exception is a result too.',
      schema: contextResultSchema,
    },
    stream: {
      description: 'The outcome. Code that raises an exception is a result too.',
      schema: contextEventSchema,
    },
    reaches: 'sandbox',
  },
  cells: {
    route: 'GET /api/v1/contexts/{id}/cells',
    tag: 'contexts',
    scope: 'runs',
    summary: 'List the runs of a context with their output',
    description: 'Keeps the last 200 runs and at most 8 MiB.',
    params: contextParams,
    answer: { description: 'Oldest first.', schema: cellsSchema, field: 'cells' },
    reaches: 'sandbox',
  },
  restart: {
    route: 'POST /api/v1/contexts/{id}/restart',
    tag: 'contexts',
    scope: 'runs',
    summary: 'Restart the interpreter without its variables',
    params: contextParams,
    done: 'It is done.',
    reaches: 'sandbox',
  },
  interrupt: {
    route: 'POST /api/v1/contexts/{id}/interrupt',
    tag: 'contexts',
    scope: 'runs',
    summary: 'Stop the running code; keep the variables',
    params: contextParams,
    answer: { description: 'The outcome.', schema: interruptedSchema, field: 'outcome' },
    reaches: 'sandbox',
  },
  check: {
    route: 'POST /api/v1/contexts/{id}/check',
    tag: 'contexts',
    scope: 'runs',
    summary: 'Check whether code is complete (for line-by-line input)',
    params: contextParams,
    body: { description: 'The code.', schema: contextCheckSchema },
    answer: { description: 'Complete, incomplete or invalid.', schema: checkedSchema, field: 'state' },
    reaches: 'sandbox',
  },
  close: {
    route: 'DELETE /api/v1/contexts/{id}',
    tag: 'contexts',
    scope: 'runs',
    summary: 'Close a context and end its processes',
    params: contextParams,
    done: 'It is closed.',
    reaches: 'sandbox',
  },
});
