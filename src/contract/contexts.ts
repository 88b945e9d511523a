/** Interpreters that keep their variables, as they go over the wire. */
import { z } from 'zod';
import { problemEvent } from './problem.ts';
import { exitSchema } from './processes.ts';
import { envSchema, gradeSchema, limitsSchema, runtimeSchema } from './sandboxes.ts';

const contextLanguageSchema = z.enum(['python', 'javascript']);

export const newContextSchema = z
  .strictObject({
    language: contextLanguageSchema,
    chat: z
      .string()
      .min(1)
      .optional()
      .describe('The sandbox of this chat, which stays; else a fresh one that ends with the context.'),
    runtime: runtimeSchema.optional().describe('Of a fresh sandbox, as are image, limits and minimum_grade.'),
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

export const contextSchema = z
  .object({
    id: z.string(),
    language: contextLanguageSchema,
    sandbox: z.string().describe('The id of the sandbox that it runs in.'),
    chat: z.string().nullable(),
    runtime: z.string(),
    grade: gradeSchema,
    created_at: z.number(),
  })
  .meta({ id: 'Context' });
export const contextsSchema = z.object({ contexts: z.array(contextSchema) }).meta({ id: 'Contexts' });

export const contextParams = z.object({ id: z.string().regex(/^[0-9a-f]{24}$/) });

export const contextRunSchema = z
  .strictObject({
    code: z.string(),
    timeout_ms: z.number().positive().nullable().optional(),
  })
  .meta({ id: 'ContextRun' });
export const contextCheckSchema = z.strictObject({ code: z.string() }).meta({ id: 'ContextCheck' });
export const checkedSchema = z
  .object({ state: z.enum(['complete', 'incomplete', 'invalid']) })
  .meta({ id: 'Checked' });
export const interruptedSchema = z
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

export const contextResultSchema = z
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

export const cellsSchema = z
  .object({
    cells: z.array(
      z.object({
        number: z.int().describe('Counts from 1.'),
        code: z.string(),
        status: z.enum(['done', 'failed', 'interrupted', 'timed-out', 'ended', 'running', 'refused']),
        duration_ms: z.number(),
        pieces: z.array(z.discriminatedUnion('type', shownShapes)).describe('What it showed, in order.'),
      }),
    ),
  })
  .meta({ id: 'ContextCells' });

export const contextEventSchema = z
  .discriminatedUnion('type', [
    ...shownShapes,
    contextResultSchema.extend({ type: z.literal('end') }),
    problemEvent,
  ])
  .meta({ id: 'ContextEvent' });

export type WireContext = z.infer<typeof contextSchema>;
export type WireRich = z.infer<typeof richSchema>;
export type WireCells = z.infer<typeof cellsSchema>;
export type WireContextEvent = z.infer<typeof contextEventSchema>;
export type WireContextResult = z.infer<typeof contextResultSchema>;
