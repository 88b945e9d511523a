/**
 * What is said over a WebSocket. Text messages are JSON with a `type`. Binary messages are bytes: from the client they
 * are stdin; from the server their first byte says which stream the rest belongs to.
 */
import { z } from 'zod';
import { signalNames } from '../core/process.ts';
import { bytesSchema } from './bytes.ts';
import { egressSchema } from './egress.ts';
import { spawnSchema, terminalSizeSchema } from './processes.ts';
import { runSchema } from './runs.ts';
import { envSchema, gradeSchema, limitsSchema, runtimeSchema } from './sandboxes.ts';

/** What a client may say about a process while it runs. */
export const processMessageSchema = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('stdin-close') }),
    z.strictObject({
      type: z.literal('signal'),
      signal: z.enum(signalNames),
      tree: z.boolean().optional(),
    }),
    terminalSizeSchema.extend({ type: z.literal('resize') }),
  ])
  .meta({ id: 'ProcessMessage' });

/** The first message on the socket that runs a command. */
export const execMessageSchema = spawnSchema
  .extend({
    type: z.literal('exec'),
    on_disconnect: z
      .enum(['kill', 'leave'])
      .default('kill')
      .describe('What becomes of the command when the connection is gone.'),
  })
  .meta({ id: 'ExecMessage' });

/** The first message on the socket that runs a command in a fresh sandbox, which ends with it. */
export const freshExecMessageSchema = spawnSchema
  .omit({ undoable: true })
  .extend({
    type: z.literal('exec'),
    sandbox: z
      .strictObject({
        runtime: runtimeSchema.optional(),
        image: z.string().min(1).max(1000).optional(),
        env: envSchema.optional(),
        limits: limitsSchema.optional(),
        minimum_grade: gradeSchema.optional(),
        egress: egressSchema.optional(),
      })
      .default({})
      .describe('What the sandbox shall be.'),
  })
  .meta({ id: 'FreshExecMessage' });

/** The first message on the socket that runs code. */
export const runMessageSchema = runSchema
  .omit({ output_limit_bytes: true, stdin: true })
  .extend({
    type: z.literal('run'),
    code: z.union([z.string(), bytesSchema]),
    interactive: z.boolean().optional().describe('Stdin follows, in binary messages.'),
  })
  .meta({ id: 'RunMessage' });

/** What a client may say while code runs. */
export const runStdinMessageSchema = z
  .strictObject({ type: z.literal('stdin-close') })
  .meta({ id: 'RunStdinMessage' });

export const joinQuery = z.strictObject({
  from: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
  columns: z.coerce.number().int().min(1).max(10_000).optional(),
  rows: z.coerce.number().int().min(1).max(10_000).optional(),
});
