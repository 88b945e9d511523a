import {
  chatAuditQuery,
  chatAuditSchema,
  pairingsSchema,
  pairParams,
  pairSchema,
  senderParams,
  senderSchema,
  sendersSchema,
} from '../../../contract/chats.ts';
import { toWire } from '../../../contract/names.ts';
import type { Chats } from '../../../core/chat.ts';
import { requireScope } from '../../guards/auth.ts';
import {
  bodyRefusals,
  defineRoute,
  json,
  jsonBody,
  limitEntryBody,
  notFoundRefusal,
  refusals,
  security,
} from '../../route.ts';
import { nameOf } from '../approvals/approvals.ts';

const tags = ['chats'];

/** Who may speak on the channels, and as whom: for whoever runs the host. */
export function senderRoutes(chats: Chats) {
  const middleware = requireScope('admin');
  return [
    defineRoute(
      {
        method: 'get',
        path: '/api/v1/pairings',
        summary: 'People who asked to be let in',
        tags,
        security,
        middleware,
        responses: { 200: json('Those whose code is still good.', pairingsSchema), ...refusals },
      },
      (context) => context.json({ pairings: toWire(chats.pairings()) }, 200),
    ),
    defineRoute(
      {
        method: 'post',
        path: '/api/v1/pairings/{code}',
        summary: 'Let somebody in',
        tags,
        security,
        middleware: [middleware, limitEntryBody],
        request: { params: pairParams, body: jsonBody('As whom.', pairSchema) },
        responses: {
          200: json('Who it is.', senderSchema),
          ...refusals,
          ...bodyRefusals,
          ...notFoundRefusal,
        },
      },
      async (context) => {
        const paired = await chats.pair(context.req.valid('param').code, {
          user: context.req.valid('json').user,
          by: nameOf(context.var.caller),
        });
        return context.json(toWire(paired), 200);
      },
    ),
    defineRoute(
      {
        method: 'get',
        path: '/api/v1/senders',
        summary: 'People who were let in',
        tags,
        security,
        middleware,
        responses: { 200: json('Oldest first.', sendersSchema), ...refusals },
      },
      (context) => context.json({ senders: toWire(chats.senders()) }, 200),
    ),
    defineRoute(
      {
        method: 'delete',
        path: '/api/v1/senders/{channel}/{sender}',
        summary: 'Let somebody in no more',
        tags,
        security,
        middleware,
        request: { params: senderParams },
        responses: {
          200: json('Whether they were.', sendersSchema),
          ...refusals,
        },
      },
      (context) => {
        const { channel, sender } = context.req.valid('param');
        chats.unpair(channel, sender, nameOf(context.var.caller));
        return context.json({ senders: toWire(chats.senders()) }, 200);
      },
    ),
    defineRoute(
      {
        method: 'get',
        path: '/api/v1/chat-audit',
        summary: 'Who let whom in, and who scheduled what',
        tags,
        security,
        middleware,
        request: { query: chatAuditQuery },
        responses: { 200: json('The newest first.', chatAuditSchema), ...refusals },
      },
      (context) => context.json({ records: [...chats.audit(context.req.valid('query'))] }, 200),
    ),
  ] as const;
}
