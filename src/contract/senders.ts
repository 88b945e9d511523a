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
    summary: 'List people who are waiting to be paired',
    answer: { description: 'People whose code is still valid.', schema: pairingsSchema, field: 'pairings' },
  },
  pair: {
    route: 'POST /api/v1/pairings/{code}',
    tag: 'chats',
    scope: 'admin',
    summary: 'Pair a person',
    params: pairParams,
    body: { description: 'The user that the person acts as.', schema: pairSchema },
    answer: { description: 'Who it is.', schema: senderSchema },
    refuses: notFound,
  },
  list: {
    route: 'GET /api/v1/senders',
    tag: 'chats',
    scope: 'admin',
    summary: 'List paired people',
    answer: { description: 'Oldest first.', schema: sendersSchema, field: 'senders' },
  },
  remove: {
    route: 'DELETE /api/v1/senders/{channel}/{sender}',
    tag: 'chats',
    scope: 'admin',
    summary: 'Unpair a person',
    params: senderParams,
    answer: { description: 'The remaining paired people.', schema: sendersSchema, field: 'senders' },
  },
  audit: {
    route: 'GET /api/v1/chat-audit',
    tag: 'chats',
    scope: 'admin',
    summary: 'List pairings and schedule changes',
    query: chatAuditQuery,
    answer: { description: 'Newest first.', schema: chatAuditSchema, field: 'records' },
  },
});
