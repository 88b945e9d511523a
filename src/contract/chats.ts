/** Chats, channels and the people on them, in wire format. */

import { z } from 'zod';
import { userPattern } from '../base/identity.ts';
import { catchUps, chatActions, duringTurns } from '../seams/chat.ts';
import { scheduleAddInput, scheduleRemoveInput } from '../seams/schedule-tools.ts';
import { turnRecordSchema } from './agents.ts';
import { decimal } from './decimal.ts';
import { family } from './operation.ts';
import { problemEvent } from './problem.ts';
import { chatParams } from './sandboxes.ts';

const ms = 'In ms since 1970.';

const chatsSchema = z
  .object({
    chats: z.array(
      z.object({
        name: z.string().describe('Also the name of its sandbox and its agent.'),
        channel: z.string(),
        model: z.string().nullable().describe('null: the configured model.'),
        created_at: z.number().describe(ms),
        active_at: z.number().describe(ms),
      }),
    ),
  })
  .meta({ id: 'Chats' });

const postMessageSchema = z
  .strictObject({
    text: z.string().min(1).max(100_000).describe('The message, or a command such as `/stop`.'),
    key: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('A key chosen by the caller. A message sent twice with the same key counts once.'),
    during: z
      .enum(duringTurns)
      .optional()
      .describe(
        'While the agent works: `follow` its turn, or `steer`: the agent reads it before its next step. Default: as the chat is set (`/steer`).',
      ),
  })
  .meta({ id: 'PostMessage' });

const postedMessageSchema = z
  .object({
    id: z.int(),
    is_new: z.boolean().describe('false: a message with this key already exists.'),
    place: z
      .object({ lane: z.int(), all: z.int() })
      .nullable()
      .describe('Messages ahead of it, in this chat and in all; null: in progress.'),
  })
  .meta({ id: 'PostedMessage' });

const chatEventsQuery = z.strictObject({
  after: decimal(z.int().min(0).max(Number.MAX_SAFE_INTEGER).optional()).describe(
    'Return events after this number (same as `Last-Event-ID`). Default: from the beginning.',
  ),
  follow: z
    .enum(['true', 'false'])
    .default('true')
    .transform((value) => value === 'true')
    .describe('false: end after the stored events.'),
});

const kept = { seq: z.int(), at: z.number(), id: z.int() };

const keptEvents = [
  z.object({
    type: z.literal('message'),
    ...kept,
    sender: z.string(),
    text: z.string(),
    files: z.array(z.string()),
  }),
  z.object({
    type: z.literal('reply'),
    ...kept,
    answers: z.int().nullable().describe('The message that it answers.'),
    is_last: z.boolean().describe('true for the last reply to that message.'),
    is_failure: z.boolean().describe('true if the text explains why there is no answer.'),
    text: z.string(),
    buttons: z.array(z.object({ label: z.string(), value: z.string() })),
    file: z.string().nullable().describe('An attached file of the workspace.'),
    state: z.enum(['waiting', 'sending', 'sent', 'unknown', 'failed']),
  }),
] as const;

const chatEventSchema = z
  .union([
    ...keptEvents,
    z.object({ type: z.literal('turn-start'), message: z.int() }),
    z.object({ type: z.literal('text-delta'), message: z.int(), text: z.string() }),
    z.object({ type: z.literal('tool-call'), message: z.int(), tool: z.string() }),
    problemEvent,
  ])
  .meta({ id: 'ChatEvent' });

const chatRecordSchema = z.union([...keptEvents, turnRecordSchema, problemEvent]).meta({ id: 'ChatRecord' });

const scheduleFields = {
  when: scheduleAddInput.shape.when.meta({ example: 'every 2h' }),
  text: scheduleAddInput.shape.text.describe('The message to send.'),
};

const newScheduleSchema = z
  .strictObject({
    ...scheduleFields,
    catch_up: z
      .enum(catchUps)
      .optional()
      .describe('Times missed while no host ran: run once for all of them (default), or skip them.'),
  })
  .meta({ id: 'NewSchedule' });

const scheduleSchema = z
  .object({
    id: z.string(),
    chat: z.string(),
    ...scheduleFields,
    catch_up: z.enum(catchUps),
    next: z.number().describe(ms),
  })
  .meta({ id: 'Schedule' });

const schedulesSchema = z.object({ schedules: z.array(scheduleSchema) }).meta({ id: 'Schedules' });
const schedulesQuery = z.strictObject({
  chat: z.string().min(1).max(512).optional().describe('Only of this chat (default: all chats).'),
});
const scheduleParams = z.object(scheduleRemoveInput.shape);
const scheduleRemovedSchema = z
  .object({ removed: z.boolean().describe('false: no such schedule.') })
  .meta({ id: 'ScheduleRemoved' });

const channelsSchema = z
  .object({
    channels: z.array(
      z.object({
        channel: z.string(),
        state: z.enum(['connecting', 'connected', 'stopped', 'deaf']),
        since: z.number().nullable().describe('Not receiving since (ms since 1970).'),
        last_error: z.string().nullable(),
        last_message_at: z.number().nullable(),
      }),
    ),
  })
  .meta({ id: 'Channels' });

export const pairingsSchema = z
  .object({
    pairings: z.array(
      z.object({
        code: z.string(),
        channel: z.string(),
        sender: z.string(),
        name: z.string(),
        expires_at: z.number(),
      }),
    ),
  })
  .meta({ id: 'Pairings' });

export const chatAuditQuery = z.strictObject({
  limit: decimal(z.int().min(1).max(1000).default(100)).describe('Maximum number of records.'),
});

export const chatAuditSchema = z
  .object({
    records: z.array(
      z.object({
        at: z.number().describe(ms),
        by: z
          .string()
          .describe(
            'A sender (`telegram:42`), the local socket, a key, the agent of a chat, or the scheduler.',
          ),
        deed: z.enum(chatActions),
        detail: z.record(z.string(), z.union([z.string(), z.number()])),
      }),
    ),
  })
  .meta({ id: 'ChatAudit' });

export const pairParams = z.object({ code: z.string().min(1).max(40) });

export const pairSchema = z
  .strictObject({
    user: z.string().regex(userPattern).describe('The user that the sender acts as from now on.'),
  })
  .meta({ id: 'Pair' });

export const senderSchema = z
  .object({
    channel: z.string(),
    sender: z.string(),
    name: z.string(),
    user: z.string(),
    paired_at: z.number(),
    paired_by: z.string(),
  })
  .meta({ id: 'PairedSender' });

export const sendersSchema = z.object({ senders: z.array(senderSchema) }).meta({ id: 'PairedSenders' });

export const senderParams = z.object({
  channel: z.string().min(1).max(40),
  sender: z.string().min(1).max(400),
});

export const webhookParams = z.object({ channel: z.string().min(1).max(40) });

/** Parameter names from Meta's API. */
export const webhookQuestion = z.object({
  'hub.mode': z.string().max(40).default(''),
  'hub.verify_token': z.string().max(1000).default(''),
  'hub.challenge': z.string().max(1000).default(''),
});

export const chats = family({
  list: {
    route: 'GET /api/v1/chats',
    tag: 'chats',
    scope: 'agents',
    summary: 'List chats on all channels',
    answer: {
      description: 'The chats of the caller, latest active first.',
      schema: chatsSchema,
      field: 'chats',
    },
  },
  channels: {
    route: 'GET /api/v1/channels',
    tag: 'chats',
    scope: 'agents',
    summary: 'Show the state of each channel',
    answer: {
      description: 'Connected, or since when and why not.',
      schema: channelsSchema,
      field: 'channels',
    },
  },
  post: {
    route: 'POST /api/v1/chats/{chat}/messages',
    tag: 'chats',
    scope: 'agents',
    summary: 'Post a message in a chat',
    description:
      'It is stored when this answers. The answer to it is a `reply` among the events of the chat. A chat of a new name begins with its first message.',
    params: chatParams,
    body: { description: 'The message.', schema: postMessageSchema },
    answer: { description: 'Its position in the queue.', schema: postedMessageSchema, status: 202 },
  },
  events: {
    route: 'GET /api/v1/chats/{chat}/events',
    tag: 'chats',
    scope: 'agents',
    summary: 'Stream the messages of a chat',
    description:
      'The id of each event that is kept is its number: a caller that was cut off sends the last one back and misses nothing. Text as it grows has no number; the whole of it comes as a `reply`.',
    params: chatParams,
    query: chatEventsQuery,
    stream: {
      description: 'One event for each message, reply or progress step.',
      schema: chatEventSchema,
      resumes: true,
      again: [],
    },
  },
  export: {
    route: 'GET /api/v1/chats/{chat}/export',
    tag: 'chats',
    scope: 'agents',
    summary: 'Export a chat',
    description:
      'All messages and every turn of the agent with its tool calls, oldest first. Includes conversations that `/new` ended. Geode never deletes them.',
    params: chatParams,
    stream: { description: 'One event for each record.', schema: chatRecordSchema },
  },
});

export const schedules = family({
  list: {
    route: 'GET /api/v1/schedules',
    tag: 'chats',
    scope: 'agents',
    summary: 'List scheduled messages',
    query: schedulesQuery,
    answer: { description: 'The next one first.', schema: schedulesSchema, field: 'schedules' },
  },
  add: {
    route: 'POST /api/v1/chats/{chat}/schedules',
    tag: 'chats',
    scope: 'agents',
    summary: 'Schedule a message',
    description:
      'Each time counts once, however often the host is restarted. A chat of a new name begins with it.',
    params: chatParams,
    body: { description: 'The time and the message.', schema: newScheduleSchema },
    answer: { description: 'The schedule with its id and next time.', schema: scheduleSchema, status: 201 },
  },
  remove: {
    route: 'DELETE /api/v1/schedules/{id}',
    tag: 'chats',
    scope: 'agents',
    summary: 'Remove a schedule',
    params: scheduleParams,
    answer: { description: 'Whether there was one.', schema: scheduleRemovedSchema, field: 'removed' },
  },
});
