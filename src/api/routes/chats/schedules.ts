import {
  newScheduleSchema,
  scheduleParams,
  scheduleRemovedSchema,
  scheduleSchema,
  schedulesQuery,
  schedulesSchema,
} from '../../../contract/chats.ts';
import { fromWire, toWire } from '../../../contract/names.ts';
import { chatParams } from '../../../contract/sandboxes.ts';
import type { Chats } from '../../../core/chat.ts';
import { GeodeError } from '../../../core/errors.ts';
import { requireScope } from '../../guards/auth.ts';
import {
  bodyRefusals,
  defineRoute,
  json,
  jsonBody,
  limitEntryBody,
  refusals,
  security,
} from '../../route.ts';
import { nameOf } from '../approvals/approvals.ts';

const tags = ['chats'];

/** What is said in chats at set times. */
export function scheduleRoutes(chats: Chats) {
  return [
    defineRoute(
      {
        method: 'get',
        path: '/api/v1/schedules',
        summary: 'List what is said in chats at set times',
        tags,
        security,
        middleware: requireScope('agents'),
        request: { query: schedulesQuery },
        responses: { 200: json('The next one first.', schedulesSchema), ...refusals },
      },
      (context) => {
        const { chat } = context.req.valid('query');
        const { schedules } = chats.of(context.var.caller.user);
        return context.json({ schedules: toWire(schedules.list(chat)) }, 200);
      },
    ),
    defineRoute(
      {
        method: 'post',
        path: '/api/v1/chats/{chat}/schedules',
        summary: 'Have something said in a chat at set times',
        description:
          'Each time counts once, however often the host is restarted. A chat of a new name begins with it.',
        tags,
        security,
        middleware: [requireScope('agents'), limitEntryBody],
        request: { params: chatParams, body: jsonBody('When and what.', newScheduleSchema) },
        responses: {
          201: json('With its id and its next time.', scheduleSchema),
          ...refusals,
          ...bodyRefusals,
        },
      },
      (context) => {
        const { chat } = context.req.valid('param');
        const { schedules } = chats.of(context.var.caller.user);
        const { reach } = context.env;
        if (reach !== undefined && reach.chat !== chat)
          throw new GeodeError('forbidden', 'A tool of a sandbox schedules for its own chat only');
        const given = fromWire(context.req.valid('json'));
        const made = schedules.add(chat, given, nameOf(context.var.caller), reach?.mostSchedules);
        return context.json(toWire(made), 201);
      },
    ),
    defineRoute(
      {
        method: 'delete',
        path: '/api/v1/schedules/{id}',
        summary: 'End a schedule',
        tags,
        security,
        middleware: requireScope('agents'),
        request: { params: scheduleParams },
        responses: { 200: json('Whether there was one.', scheduleRemovedSchema), ...refusals },
      },
      (context) => {
        const { id } = context.req.valid('param');
        const { schedules } = chats.of(context.var.caller.user);
        return context.json({ removed: schedules.remove(id, nameOf(context.var.caller)) }, 200);
      },
    ),
  ] as const;
}
