/**
 * What is said over a WebSocket. Text messages are JSON with a `type`. Binary messages are bytes: from the client they
 * are stdin; from the server their first byte says which stream the rest belongs to.
 */
import { z } from 'zod';
import { signalNames } from '../../core/process.ts';
import { spawnSchema, terminalSizeSchema } from './processes.ts';

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

export const joinQuery = z.strictObject({
  from: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
  columns: z.coerce.number().int().min(1).max(10_000).optional(),
  rows: z.coerce.number().int().min(1).max(10_000).optional(),
});
