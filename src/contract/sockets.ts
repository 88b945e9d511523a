/**
 * The messages of a WebSocket. Text messages are JSON with a `type`. Binary messages are bytes: from the client they
 * are stdin; from the server their first byte names the stream of the rest.
 */

import { z } from 'zod';
import { signalNames } from '../seams/process.ts';
import { bytesSchema } from './bytes.ts';
import { egressSchema, noNetworkSchema } from './egress.ts';
import { family } from './operation.ts';
import { problemEvent } from './problem.ts';
import { exitSchema, processParams, spawnSchema, terminalSizeSchema } from './processes.ts';
import { denialSchema, runEventSchema, runSchema } from './runs.ts';
import {
  chatParams,
  envSchema,
  gradeSchema,
  limitsSchema,
  pullProgress,
  runtimeSchema,
} from './sandboxes.ts';

/** Messages of a client about a running process. */
const processMessageSchema = z
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
const execMessageSchema = spawnSchema
  .extend({
    type: z.literal('exec'),
    on_disconnect: z
      .enum(['kill', 'leave'])
      .default('kill')
      .describe('The fate of the command when the connection closes.'),
  })
  .meta({ id: 'ExecMessage' });

/** The first message on the socket that runs a command in a fresh sandbox, which ends with the command. */
const freshExecMessageSchema = spawnSchema
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
        network: noNetworkSchema.optional(),
      })
      .default({})
      .describe('The settings of the sandbox.'),
  })
  .meta({ id: 'FreshExecMessage' });

/** The first message on the socket that runs code. */
const runMessageSchema = runSchema
  .omit({ output_limit_bytes: true, stdin: true })
  .extend({
    type: z.literal('run'),
    code: z.union([z.string(), bytesSchema]),
    interactive: z.boolean().optional().describe('Stdin follows in binary messages.'),
  })
  .meta({ id: 'RunMessage' });

/** Messages of a client while code runs. */
const runStdinMessageSchema = z
  .strictObject({ type: z.literal('stdin-close') })
  .meta({ id: 'RunStdinMessage' });

const joinQuery = z.strictObject({
  from: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
  columns: z.coerce.number().int().min(1).max(10_000).optional(),
  rows: z.coerce.number().int().min(1).max(10_000).optional(),
});

/** Messages of the server about a process, apart from its output. */
const processEventSchema = z.discriminatedUnion('type', [
  pullProgress,
  z.object({
    type: z.literal('process'),
    id: z.string(),
    pid: z.int(),
    offset: z.number(),
    sandbox: z.object({
      id: z.string(),
      runtime: z.string(),
      grade: gradeSchema,
      hatch: z.enum(['enforced', 'advice']).optional().describe('Left out where there is no policy.'),
    }),
  }),
  z.object({ type: z.literal('screen'), columns: z.int(), rows: z.int(), offset: z.number() }),
  z.object({ type: z.literal('output-lost'), offset: z.number(), length: z.number() }),
  exitSchema.extend({ type: z.literal('exit'), denied: z.array(denialSchema).optional() }),
  problemEvent,
]);

export const sockets = family({
  exec: {
    route: 'GET /api/v1/sandboxes/{chat}/exec',
    tag: 'processes',
    scope: 'sandboxes:write',
    summary: 'Run a command over a WebSocket with live input and output',
    description:
      'The first message is an `ExecMessage`. Then binary messages are stdin, and text messages are each a `ProcessMessage`. The server answers `process`, which names the process and its sandbox, then binary messages (a byte that is 1 for stdout or 2 for stderr, and the output), `output-lost`, and `exit` (with the network requests that were `denied` while it ran) or `problem` last. A slow reader slows the command down.',
    params: chatParams,
    socket: { first: execMessageSchema, fromClient: processMessageSchema, fromServer: processEventSchema },
    reaches: 'sandbox',
  },
  join: {
    route: 'GET /api/v1/sandboxes/{chat}/processes/{process}/socket',
    tag: 'processes',
    scope: 'sandboxes:write',
    summary: 'Attach to a process over a WebSocket',
    description:
      'With `columns` and `rows` the terminal gets this size and its screen is sent first, as a `screen` message and the text that draws it on an empty terminal. Messages are those of the socket that runs a command. The process goes on when the connection ends.',
    params: processParams,
    query: joinQuery,
    socket: { fromClient: processMessageSchema, fromServer: processEventSchema },
    reaches: 'sandbox',
  },
  freshExec: {
    route: 'GET /api/v1/exec',
    tag: 'processes',
    scope: 'runs',
    summary: 'Run a command in a fresh sandbox over a WebSocket',
    description:
      'The first message is a `FreshExecMessage`. Then messages are those of the socket that runs a command in a sandbox that stays; before them may come `pull-progress`. The sandbox ends with the command, and with the connection.',
    socket: {
      first: freshExecMessageSchema,
      fromClient: processMessageSchema,
      fromServer: processEventSchema,
    },
    reaches: 'sandbox',
  },
  run: {
    route: 'GET /api/v1/runs/socket',
    tag: 'runs',
    scope: 'runs',
    summary: 'Run code over a WebSocket with live input and output',
    description:
      'The first message is a `RunMessage`. Binary messages are stdin then, until a `RunStdinMessage` ends it. The server answers with binary messages (a byte that is 1 for stdout or 2 for stderr, and the output) and with text messages that are each a `RunEvent`; the last is `end` or `problem`. A caller that leaves ends the run.',
    socket: { first: runMessageSchema, fromClient: runStdinMessageSchema, fromServer: runEventSchema },
    reaches: 'sandbox',
  },
});
