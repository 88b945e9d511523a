/** Calls of chat platforms. */

import { webhookParams, webhookQuestion } from './chats.ts';
import { family, notFound, usualRefusals } from './operation.ts';

export const platformCalls = family({
  confirm: {
    route: 'GET /webhooks/{channel}',
    tag: 'chats',
    scope: 'nobody',
    summary: 'Confirm the webhook address to a platform',
    params: webhookParams,
    query: webhookQuestion,
    text: 'The challenge that the platform sent.',
    refuses: { ...usualRefusals, ...notFound },
  },
  take: {
    route: 'POST /webhooks/{channel}',
    tag: 'chats',
    scope: 'nobody',
    summary: 'Receive messages from a platform',
    description:
      'Signed by the platform (`X-Hub-Signature-256`). Answers 200 only after storing everything; otherwise the platform sends it again.',
    params: webhookParams,
    takes: { description: 'The body as the platform signed it.', type: '*/*' },
    text: 'Stored.',
    refuses: { ...usualRefusals, ...notFound },
  },
});
