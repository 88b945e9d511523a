import { scopeOf } from '../../../chat/commands.ts';
import {
  channelsSchema,
  chatEventSchema,
  chatEventsQuery,
  chatRecordSchema,
  chatsSchema,
  postedMessageSchema,
  postMessageSchema,
} from '../../../contract/chats.ts';
import { toWire } from '../../../contract/names.ts';
import { chatParams } from '../../../contract/sandboxes.ts';
import type { ChatEvent, ChatRecord, Chats } from '../../../core/chat.ts';
import { lastEventId, signalOf, streamEvents, streamNumbered } from '../../events.ts';
import { refuseWithout, requireScope } from '../../guards/auth.ts';
import {
  bodyRefusals,
  defineRoute,
  eventStream,
  json,
  jsonBody,
  limitEntryBody,
  refusals,
  security,
} from '../../route.ts';
import { untilAborted } from '../../until-aborted.ts';

const path = '/api/v1/chats';
const tags = ['chats'];

/** Deciding an approval needs the scope for that in a chat too. */
export function chatRoutes(chats: Chats) {
  return [
    defineRoute(
      {
        method: 'get',
        path,
        summary: 'List the chats of the caller, on every channel',
        tags,
        security,
        middleware: requireScope('agents'),
        responses: { 200: json('The latest active first.', chatsSchema), ...refusals },
      },
      (context) => context.json({ chats: toWire(chats.of(context.var.caller.user).list()) }, 200),
    ),
    defineRoute(
      {
        method: 'get',
        path: '/api/v1/channels',
        summary: 'How each channel is doing',
        tags,
        security,
        middleware: requireScope('agents'),
        responses: { 200: json('Connected, or deaf since when and why.', channelsSchema), ...refusals },
      },
      (context) => context.json({ channels: toWire(chats.channels()) }, 200),
    ),
    defineRoute(
      {
        method: 'post',
        path: `${path}/{chat}/messages`,
        summary: 'Write a message in a chat',
        description:
          'It is stored when this answers. The answer to it is a `reply` among the events of the chat. A chat of a new name begins with its first message.',
        tags,
        security,
        middleware: [requireScope('agents'), limitEntryBody],
        request: { params: chatParams, body: jsonBody('The message.', postMessageSchema) },
        responses: {
          202: json('Where it stands.', postedMessageSchema),
          ...refusals,
          ...bodyRefusals,
        },
      },
      async (context) => {
        const { chat } = context.req.valid('param');
        const message = context.req.valid('json');
        const scope = scopeOf(message.text);
        if (scope !== undefined) refuseWithout(context, scope);
        const posted = await chats.of(context.var.caller.user).post(chat, message);
        return context.json(toWire(posted), 202);
      },
    ),
    defineRoute(
      {
        method: 'get',
        path: `${path}/{chat}/events`,
        summary: 'What is written in a chat, as it is written',
        description:
          'The id of each event that is kept is its number: a caller that was cut off sends the last one back and misses nothing. Text as it grows has no number; the whole of it comes as a `reply`.',
        tags,
        security,
        middleware: requireScope('agents'),
        request: { params: chatParams, query: chatEventsQuery },
        responses: { 200: eventStream('One event for each thing.', chatEventSchema), ...refusals },
      },
      (context) => {
        const { chat } = context.req.valid('param');
        const { after: asked, follow } = context.req.valid('query');
        const after = lastEventId(context) ?? asked;
        const signal = signalOf(context);
        const events = chats.of(context.var.caller.user).events(chat, { after, follow, signal });
        return streamNumbered(context, numbered(untilAborted(events, signal)));
      },
    ),
    defineRoute(
      {
        method: 'get',
        path: `${path}/{chat}/export`,
        summary: 'All that is kept of a chat',
        description:
          'What was said, and each turn of the agent with its tool calls, oldest first; also of conversations that `/new` ended. Nothing of it is ever deleted.',
        tags,
        security,
        middleware: requireScope('agents'),
        request: { params: chatParams },
        responses: { 200: eventStream('One event for each record.', chatRecordSchema), ...refusals },
      },
      (context) => {
        const { chat } = context.req.valid('param');
        const signal = signalOf(context);
        const records = chats.of(context.var.caller.user).export(chat, { signal });
        return streamEvents(context, 200, onWire(records));
      },
    ),
  ] as const;
}

async function* onWire(records: AsyncIterable<ChatRecord>) {
  for await (const record of records) yield toWire(record);
}

async function* numbered(events: AsyncIterable<ChatEvent>) {
  for await (const event of events)
    yield { event: toWire(event), next: 'seq' in event ? event.seq : undefined };
}
