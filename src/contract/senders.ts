/** senders. */

import {
  chatAuditQuery,
  chatAuditSchema,
  pairingsSchema,
  pairParams,
  pairSchema,
  senderParams,
  senderSchema,
  sendersSchema,
} from './chats.ts';
import { family, notFound } from './operation.ts';

export const senders = family({
  pairings: {
    route: 'GET /api/v1/pairings',
    tag: 'chats',
    scope: 'admin',
    summary: 'People who asked to be let in',
    answer: { says: 'Those whose code is still good.', schema: pairingsSchema, field: 'pairings' },
  },
  pair: {
    route: 'POST /api/v1/pairings/{code}',
    tag: 'chats',
    scope: 'admin',
    summary: 'Let somebody in',
    params: pairParams,
    body: { says: 'As whom.', schema: pairSchema },
    answer: { says: 'Who it is.', schema: senderSchema },
    refuses: notFound,
  },
  list: {
    route: 'GET /api/v1/senders',
    tag: 'chats',
    scope: 'admin',
    summary: 'People who were let in',
    answer: { says: 'Oldest first.', schema: sendersSchema, field: 'senders' },
  },
  remove: {
    route: 'DELETE /api/v1/senders/{channel}/{sender}',
    tag: 'chats',
    scope: 'admin',
    summary: 'Let somebody in no more',
    params: senderParams,
    answer: { says: 'Whether they were.', schema: sendersSchema, field: 'senders' },
  },
  audit: {
    route: 'GET /api/v1/chat-audit',
    tag: 'chats',
    scope: 'admin',
    summary: 'Who let whom in, and who scheduled what',
    query: chatAuditQuery,
    answer: { says: 'The newest first.', schema: chatAuditSchema, field: 'records' },
  },
});
