/** webhooks. */

import { webhookParams, webhookQuestion } from './chats.ts';
import { family, notFound, usualRefusals } from './operation.ts';

export const webhooks = family({
  confirm: {
    route: 'GET /webhooks/{channel}',
    tag: 'chats',
    scope: 'nobody',
    summary: 'Confirm to a platform that this is the address of its channel',
    params: webhookParams,
    query: webhookQuestion,
    text: 'What the platform asked to hear.',
    refuses: { ...usualRefusals, ...notFound },
  },
  take: {
    route: 'POST /webhooks/{channel}',
    tag: 'chats',
    scope: 'nobody',
    summary: 'What a platform sends to its channel',
    description:
      'Signed by the platform (`X-Hub-Signature-256`). All of it is stored when this answers 200; otherwise the platform sends it again.',
    params: webhookParams,
    takes: { says: 'As the platform signed it.', type: '*/*' },
    text: 'It is stored.',
    refuses: { ...usualRefusals, ...notFound },
  },
});
