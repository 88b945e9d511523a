/** Conversations with agents, as they go over the wire. */
import { z } from 'zod';
import { driverName } from '../config/driver-name.ts';
import { bytesSchema } from './bytes.ts';
import { decimal } from './decimal.ts';
import { problemEvent } from './problem.ts';
import { terminalShape } from './processes.ts';
import { chatSchema } from './sandboxes.ts';

export const agentMessageSchema = z
  .strictObject({
    text: z.string().max(200_000).meta({ example: 'Write fizzbuzz in Python and run it.' }),
    attachments: z
      .array(z.strictObject({ name: z.string().min(1).max(200), content: bytesSchema }))
      .max(20)
      .optional()
      .describe('The agent finds them below `attachments/` in its workspace.'),
    mark: z
      .string()
      .min(1)
      .max(512)
      .optional()
      .describe("The caller's own mark of the message: sent again, it gives the same turn."),
    driver: driverName.optional().describe('Who holds the conversation, when it begins.'),
    model: z.string().min(1).max(200).optional(),
  })
  .meta({ id: 'AgentMessage' });

export const conversationStartSchema = z
  .strictObject({ driver: agentMessageSchema.shape.driver, model: agentMessageSchema.shape.model })
  .meta({ id: 'ConversationStart' });

export const agentTerminalSchema = z
  .strictObject({ ...conversationStartSchema.shape, ...terminalShape })
  .meta({ id: 'AgentTerminal' });
export const openedTerminalSchema = z
  .object({ process: z.string(), is_new: z.boolean().describe('False: it ran already.') })
  .meta({ id: 'OpenedTerminal' });

const usageSchema = z.object({ input_tokens: z.int(), cached_tokens: z.int(), output_tokens: z.int() });
const permissionAnswer = z.enum(['once', 'session', 'deny']);
const numbered = { seq: z.int(), turn: z.string(), at: z.number() };

/** What happens in a turn, with or without the fields that number it. */
function happenings<Common extends z.ZodRawShape>(common: Common) {
  const event = <T extends string, Shape extends z.ZodRawShape>(type: T, shape: Shape) =>
    z.object({ type: z.literal(type), ...common, ...shape });
  return [
    event('turn-start', { driver: driverName, message: z.string() }),
    event('turn-resume', {}),
    event('answer-restart', {}),
    event('text', { text: z.string() }),
    event('thinking', { text: z.string() }),
    event('tool-call', { id: z.string(), tool: z.string(), input: z.unknown() }),
    event('tool-result', { id: z.string(), tool: z.string(), output: z.string(), failed: z.boolean() }),
    event('file-change', {
      path: z.string(),
      change: z.enum(['added', 'removed', 'modified', 'mode', 'type']),
    }),
    event('permission-request', { id: z.string(), tool: z.string(), input: z.unknown() }),
    event('permission-answer', { id: z.string(), answer: permissionAnswer }),
    event('usage', { model: z.string(), usage: usageSchema, cost: z.number().nullable() }),
    event('result', {
      outcome: z.enum(['done', 'interrupted', 'limit']),
      text: z.string(),
      usage: usageSchema,
      cost: z.number().nullable().describe('US dollars; null where a price is not known.'),
      duration_ms: z.number(),
    }),
    event('error', { code: z.string(), message: z.string(), hint: z.string() }),
  ] as const;
}

export const agentEventSchema = z.union([...happenings(numbered), problemEvent]).meta({ id: 'AgentEvent' });

export const turnRecordSchema = z
  .object({
    type: z.literal('turn'),
    at: z.number(),
    turn: z.string(),
    conversation: z.int().describe('Turns of one conversation have the same; `/new` begins another.'),
    driver: driverName,
    started_at: z.number(),
    ended_at: z.number(),
    events: z.array(z.union(happenings({}))),
  })
  .meta({ id: 'TurnRecord' });

export const conversationSchema = z
  .object({
    chat: z.string(),
    driver: driverName,
    model: z.string().nullable(),
    state: z.enum(['idle', 'running']),
    created_at: z.number(),
    active_at: z.number(),
    turns: z.int(),
    seq: z.int().describe('The number of the newest event.'),
    cost: z.number(),
  })
  .meta({ id: 'Conversation' });

export const conversationsSchema = z.object({ conversations: z.array(conversationSchema) });
export const agentEventsQuery = z.strictObject({
  after: decimal(z.int().min(0).default(0)).describe('Events after this number.'),
  follow: z
    .enum(['true', 'false'])
    .default('false')
    .transform((value) => value === 'true')
    .describe('true: waits for more.'),
});
export const interruptedSchema = z.object({ interrupted: z.boolean() });
export const stoppedSchema = z.object({ stopped: z.boolean() });
export const permissionParams = z.object({ chat: chatSchema, id: z.string().min(1).max(200) });
export const permissionSchema = z.strictObject({ answer: permissionAnswer }).meta({ id: 'PermissionAnswer' });
