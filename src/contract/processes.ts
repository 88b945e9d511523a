/** Commands in a sandbox, in wire format. */

import { z } from 'zod';
import { rlimitNames, signalNames } from '../seams/process.ts';
import { bytesSchema, bytesShape } from './bytes.ts';
import { family } from './operation.ts';
import { problemEvent } from './problem.ts';
import { chatParams, chatSchema, envSchema } from './sandboxes.ts';

export const processParams = z.object({
  chat: chatSchema,
  process: z
    .string()
    .regex(/^[\w-]{1,64}$/)
    .meta({ example: '0mRVS7Gs_d04' }),
});

export const terminalShape = { columns: z.int().min(0).max(10_000), rows: z.int().min(0).max(10_000) };
export const terminalSizeSchema = z.strictObject(terminalShape).meta({ id: 'TerminalSize' });

const commandShape = {
  argv: z
    .array(z.string())
    .min(1)
    .describe('The program and its arguments, without a shell.')
    .meta({ example: ['echo', 'hello'] }),
  cwd: z.string().optional(),
  env: envSchema.optional(),
  user: z.string().optional(),
  timeout_ms: z
    .number()
    .positive()
    .nullable()
    .optional()
    .describe('Default 60 s; null: no limit. Then the command and everything that it started are killed.'),
  pty: terminalSizeSchema.optional().describe('Run it in a terminal.'),
  rlimits: z.partialRecord(z.enum(rlimitNames), z.number().nonnegative()).optional(),
  stdin: bytesSchema.optional(),
  undoable: z.boolean().optional().describe('Save the files first, so that an undo restores them.'),
};

const execSchema = z
  .strictObject({
    ...commandShape,
    output_limit_bytes: z
      .int()
      .nonnegative()
      .max(64 * 1024 ** 2)
      .optional()
      .describe('Maximum bytes of stdout and of stderr to keep. Default: 10 MB each.'),
  })
  .meta({ id: 'Exec' });

export const spawnSchema = z
  .strictObject({
    ...commandShape,
    interactive: z.boolean().optional().describe('Keep stdin open until it is closed.'),
  })
  .meta({ id: 'Spawn' });

const exitShape = {
  exit_code: z.int().nullable(),
  signal: z.string().nullable(),
  timed_out: z.boolean(),
  oom_killed: z.boolean(),
  duration_ms: z.number(),
};
export const exitSchema = z.object(exitShape).meta({ id: 'Exit' });

const execResultSchema = z
  .object({
    ...exitShape,
    process_id: z.string(),
    stdout: z.string(),
    stderr: z.string(),
    stdout_base64: z.base64().optional().describe('The bytes of stdout, if they are not UTF-8.'),
    stderr_base64: z.base64().optional(),
    truncated: z.boolean(),
    dropped: z.object({ stdout: z.int(), stderr: z.int() }),
  })
  .meta({ id: 'ExecResult' });

const startedSchema = z
  .object({ id: z.string(), pid: z.int(), sandbox: z.string().describe('The id of the sandbox.') })
  .meta({ id: 'Started' });

const childSchema = z.object({ pid: z.int(), ppid: z.int(), command: z.string() });

const processSchema = z
  .object({
    id: z.string(),
    pid: z.int(),
    argv: z.array(z.string()),
    started_at: z.number(),
    state: z.enum(['running', 'exited']),
    offset: z.number().describe('Bytes written so far, stdout and stderr together.'),
    terminal: z.object(terminalShape).nullable(),
    exit: exitSchema.nullable(),
    children: z.array(childSchema),
  })
  .meta({ id: 'Process' });

const processesSchema = z
  .object({
    processes: z.array(processSchema),
    disowned: z.array(childSchema).describe('Children that outlived the command which started them.'),
  })
  .meta({ id: 'Processes' });

export const offsetSchema = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

const outputQuery = z.strictObject({
  from: offsetSchema
    .optional()
    .describe('Offset of the first byte (same as `Last-Event-ID` after a lost connection).'),
});

const offset = z.number().describe('Offset of the first byte, in stdout and stderr together.');
export const outputEvents = [
  z.object({ type: z.literal('stdout'), offset, ...bytesShape }),
  z.object({ type: z.literal('stderr'), offset, ...bytesShape }),
  z.object({ type: z.literal('output-lost'), offset, length: z.number() }),
  z.object({ type: z.literal('exit'), ...exitShape }),
] as const;

/** The id of an event is the offset of the next byte. The last event is `exit` or `problem`. */
const outputEventSchema = z
  .discriminatedUnion('type', [...outputEvents, problemEvent])
  .meta({ id: 'OutputEvent' });

const signalSchema = z
  .strictObject({
    signal: z.enum(signalNames),
    tree: z.boolean().optional().describe('Also send it to all child processes.'),
  })
  .meta({ id: 'Signal' });

export const processes = family({
  exec: {
    route: 'POST /api/v1/sandboxes/{chat}/exec',
    tag: 'processes',
    scope: 'sandboxes:write',
    summary: 'Run a command and wait for its exit',
    description:
      'A failed command is a result, not an error. If the caller disconnects, the command and everything that it started are killed.',
    params: chatParams,
    body: { description: 'The command.', schema: execSchema, limit: 'command' },
    answer: { description: 'The exit code and the output.', schema: execResultSchema },
    reaches: 'sandbox',
  },
  spawn: {
    route: 'POST /api/v1/sandboxes/{chat}/processes',
    tag: 'processes',
    scope: 'sandboxes:write',
    summary: 'Start a process in the background',
    params: chatParams,
    body: { description: 'The command.', schema: spawnSchema, limit: 'command' },
    answer: { description: 'The started process.', schema: startedSchema, status: 201 },
    reaches: 'sandbox',
  },
  list: {
    route: 'GET /api/v1/sandboxes/{chat}/processes',
    tag: 'processes',
    scope: 'sandboxes:read',
    summary: 'List the processes of a running sandbox',
    params: chatParams,
    answer: { description: 'Running and recently ended processes.', schema: processesSchema },
    reaches: 'sandbox',
  },
  output: {
    route: 'GET /api/v1/sandboxes/{chat}/processes/{process}/output',
    tag: 'processes',
    scope: 'sandboxes:read',
    summary: 'Stream the output of a process until its exit',
    description:
      'Bytes as the process wrote them, secrets included. The id of each event is the offset of the next byte, so a disconnected caller can continue there.',
    params: processParams,
    query: outputQuery,
    stream: {
      description: 'The last event is `exit` or `problem`.',
      schema: outputEventSchema,
      resumes: true,
      again: ['exit'],
    },
    reaches: 'sandbox',
  },
  write: {
    route: 'POST /api/v1/sandboxes/{chat}/processes/{process}/stdin',
    tag: 'processes',
    scope: 'sandboxes:write',
    summary: 'Write to the stdin of a process',
    params: processParams,
    takes: { description: 'The bytes.' },
    done: 'The bytes were written.',
    reaches: 'sandbox',
  },
  closeStdin: {
    route: 'DELETE /api/v1/sandboxes/{chat}/processes/{process}/stdin',
    tag: 'processes',
    scope: 'sandboxes:write',
    summary: 'Close the stdin of a process',
    params: processParams,
    done: 'Stdin is closed.',
    reaches: 'sandbox',
  },
  signal: {
    route: 'POST /api/v1/sandboxes/{chat}/processes/{process}/signal',
    tag: 'processes',
    scope: 'sandboxes:write',
    summary: 'Send a signal to a process, or also to its child processes',
    params: processParams,
    body: { description: 'The signal.', schema: signalSchema },
    done: 'The signal was sent.',
    reaches: 'sandbox',
  },
  resize: {
    route: 'POST /api/v1/sandboxes/{chat}/processes/{process}/resize',
    tag: 'processes',
    scope: 'sandboxes:write',
    summary: 'Resize the terminal of a process',
    params: processParams,
    body: { description: 'The size.', schema: terminalSizeSchema },
    done: 'The terminal was resized.',
    reaches: 'sandbox',
  },
});
