/** Conversations with agents, in wire format. */

import { z } from 'zod';
import { driverName } from '../config/driver-name.ts';
import { bytesSchema } from './bytes.ts';
import { decimal } from './decimal.ts';
import { family } from './operation.ts';
import { problemEvent } from './problem.ts';
import { terminalShape } from './processes.ts';
import { chatParams, chatSchema } from './sandboxes.ts';

const agentMessageSchema = z
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
      .describe('A key chosen by the caller. Sending the same key again returns the same turn.'),
    unattended: z
      .boolean()
      .optional()
      .describe(
        'true: nobody answers questions. What the agent asks for is allowed, except commands that the command policy refuses; the turn may take `agents.unattended_timeout`.',
      ),
    driver: driverName.optional().describe('The agent of a new conversation.'),
    model: z.string().min(1).max(200).optional(),
  })
  .meta({ id: 'AgentMessage' });

const conversationStartSchema = z
  .strictObject({ driver: agentMessageSchema.shape.driver, model: agentMessageSchema.shape.model })
  .meta({ id: 'ConversationStart' });

const agentTerminalSchema = z
  .strictObject({ ...conversationStartSchema.shape, ...terminalShape })
  .meta({ id: 'AgentTerminal' });
const openedTerminalSchema = z
  .object({ process: z.string(), is_new: z.boolean().describe('false: it was already running.') })
  .meta({ id: 'OpenedTerminal' });

const usageSchema = z.object({ input_tokens: z.int(), cached_tokens: z.int(), output_tokens: z.int() });
const permissionAnswer = z.enum(['once', 'session', 'deny']);
const numbered = { seq: z.int(), turn: z.string(), at: z.number() };

/** The events of a turn, with or without the fields that number it. */
function eventBodies<Common extends z.ZodRawShape>(common: Common) {
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

const agentEventSchema = z.union([...eventBodies(numbered), problemEvent]).meta({ id: 'AgentEvent' });

export const turnRecordSchema = z
  .object({
    type: z.literal('turn'),
    at: z.number(),
    turn: z.string(),
    conversation: z.int().describe('The same for all turns of one conversation; `/new` starts another.'),
    driver: driverName,
    started_at: z.number(),
    ended_at: z.number(),
    events: z.array(z.union(eventBodies({}))),
  })
  .meta({ id: 'TurnRecord' });

const conversationSchema = z
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

const conversationsSchema = z.object({ conversations: z.array(conversationSchema) });
const conversationForkSchema = z
  .strictObject({
    to: chatSchema.describe('The new chat.'),
    before: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe(
        'The first turn that is left out, by its id in the events. Default: the whole conversation is copied.',
      ),
  })
  .meta({ id: 'ConversationFork' });
const agentEventsQuery = z.strictObject({
  after: decimal(z.int().min(0).default(0)).describe('Return only events after this number.'),
  follow: z
    .enum(['true', 'false'])
    .default('false')
    .transform((value) => value === 'true')
    .describe('true: wait for new events.'),
});
const interruptedSchema = z.object({ interrupted: z.boolean() });
const stoppedSchema = z.object({ stopped: z.boolean() });
const permissionParams = z.object({ chat: chatSchema, id: z.string().min(1).max(200) });
const permissionSchema = z.strictObject({ answer: permissionAnswer }).meta({ id: 'PermissionAnswer' });

export const agents = family({
  list: {
    route: 'GET /api/v1/agents',
    tag: 'agents',
    scope: 'agents',
    summary: 'List conversations with agents, latest active first',
    answer: {
      description: 'The conversations of the caller.',
      schema: conversationsSchema,
      field: 'conversations',
    },
    reaches: 'sandbox',
  },
  stop: {
    route: 'DELETE /api/v1/agents/{chat}',
    tag: 'agents',
    scope: 'agents',
    summary: 'End and delete a conversation',
    description: 'Keeps the sandbox and its files.',
    params: chatParams,
    answer: { description: 'Whether there was one.', schema: stoppedSchema, field: 'stopped' },
    reaches: 'sandbox',
  },
  get: {
    route: 'GET /api/v1/agents/{chat}',
    tag: 'agents',
    scope: 'agents',
    summary: 'Get a conversation',
    params: chatParams,
    answer: { description: 'The conversation.', schema: conversationSchema },
    reaches: 'sandbox',
  },
  open: {
    route: 'POST /api/v1/agents/{chat}',
    tag: 'agents',
    scope: 'agents',
    summary: 'Start a conversation and its sandbox without a message',
    description: 'Keeps an existing conversation if its settings match.',
    params: chatParams,
    body: { description: 'The agent and its settings.', schema: conversationStartSchema },
    answer: { description: 'The conversation.', schema: conversationSchema },
    reaches: 'sandbox',
  },
  fork: {
    route: 'POST /api/v1/agents/{chat}/fork',
    tag: 'agents',
    scope: 'agents',
    summary: 'Copy a conversation and its sandbox into a new chat',
    description:
      'With `before`, the copy has the turns before that one, and the files as they were when it began. Without it, everything; while a turn runs, that is refused with `agent_busy`. The files of earlier turns are saved for the latest turns of a chat alone.',
    params: chatParams,
    body: { description: 'The new chat, and where the copy ends.', schema: conversationForkSchema },
    answer: { description: 'The conversation of the new chat.', schema: conversationSchema, status: 201 },
    reaches: 'sandbox',
  },
  events: {
    route: 'GET /api/v1/agents/{chat}/events',
    tag: 'agents',
    scope: 'agents',
    summary: 'Read the events of a conversation, from any number',
    params: chatParams,
    query: agentEventsQuery,
    stream: { description: 'Oldest first.', schema: agentEventSchema, resumes: true },
    reaches: 'sandbox',
  },
  interrupt: {
    route: 'POST /api/v1/agents/{chat}/interrupt',
    tag: 'agents',
    scope: 'agents',
    summary: 'Stop the current turn',
    description: 'Answers after every command of the turn has ended.',
    params: chatParams,
    answer: { description: 'Whether a turn was running.', schema: interruptedSchema, field: 'interrupted' },
    reaches: 'sandbox',
  },
  send: {
    route: 'POST /api/v1/agents/{chat}/messages',
    tag: 'agents',
    scope: 'agents',
    summary: 'Send a message to the agent of a chat, and follow its turn',
    description:
      'Starts the conversation and its sandbox if need be. The id of each event is its number. The turn goes on when the caller leaves: the events are kept, and `GET …/events?after=N&follow=true` goes on reading.',
    params: chatParams,
    body: { description: 'The message.', schema: agentMessageSchema, limit: 'many' },
    stream: {
      description: 'The turn; its last event is `result` or `error`.',
      schema: agentEventSchema,
      resumes: true,
    },
    reaches: 'sandbox',
    refuses: { 402: 'The budget for models is spent.' },
  },
  answer: {
    route: 'POST /api/v1/agents/{chat}/permissions/{id}',
    tag: 'agents',
    scope: 'agents',
    summary: "Answer an agent's permission request",
    description: 'Same as deciding the approval with this id.',
    params: permissionParams,
    body: { description: 'The answer.', schema: permissionSchema },
    done: 'It is answered.',
    reaches: 'sandbox',
  },
  terminal: {
    route: 'POST /api/v1/agents/{chat}/terminal',
    tag: 'agents',
    scope: 'agents',
    summary: "Open the agent's own screen in a terminal",
    description:
      'A process of the sandbox with a terminal: the one that runs, or a new one in the same conversation. It is joined as any other, at `/sandboxes/{chat}/processes/{process}/socket`. While it runs, messages are refused with `agent_busy`.',
    params: chatParams,
    body: { description: 'The terminal size.', schema: agentTerminalSchema },
    answer: { description: 'The process.', schema: openedTerminalSchema },
    reaches: 'sandbox',
  },
});
