/** Calls of a user's own server, in wire format. */
import { z } from 'zod';
import { deliveryStates, webhookEvents } from '../seams/webhooks.ts';
import { family, notFound } from './operation.ts';
import { removedSchema } from './sandboxes.ts';

const webhookParams = z.object({
  webhook: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,38}$/, 'up to 39 of a-z, 0-9 and "-"')
    .meta({ example: 'ops' }),
});

const wantedEvents = z.array(z.enum(webhookEvents)).min(1).max(webhookEvents.length);

const newWebhookSchema = z
  .strictObject({
    url: z.string().min(1).max(2000).meta({ example: 'https://hooks.example.com/geode' }),
    events: wantedEvents.optional().describe('Default: all.'),
    enabled: z.boolean().optional().describe('Default: true. false: nothing is stored or sent for it.'),
  })
  .meta({ id: 'NewWebhook' });

const webhookSchema = z
  .object({
    name: z.string(),
    url: z.string(),
    events: wantedEvents,
    enabled: z.boolean(),
    created_at: z.number().describe('In ms since 1970.'),
    secret: z.string().describe('The name of the secret that signs each call.'),
    waiting: z.int().describe('Calls that the server has not accepted yet.'),
    dropped: z.int().describe('Events that were dropped because too many calls were waiting.'),
    last_error: z.string().nullable().describe('Why the latest attempt failed; null after a success.'),
  })
  .meta({ id: 'Webhook' });

const deliverySchema = z
  .object({
    id: z.string().describe('Sent as `webhook-id`, the same in every attempt.'),
    event: z.enum(webhookEvents),
    state: z.enum(deliveryStates),
    at: z.number().describe('In ms since 1970.'),
    attempts: z.int(),
    next_at: z.number().nullable().describe('null: there is no next attempt.'),
    status: z.int().nullable().describe('HTTP status of the latest answer.'),
    error: z.string().nullable(),
  })
  .meta({ id: 'WebhookDelivery' });

export const webhooks = family({
  list: {
    route: 'GET /api/v1/webhooks',
    tag: 'webhooks',
    scope: 'sandboxes:read',
    summary: 'List webhooks',
    answer: {
      description: 'By name.',
      schema: z.object({ webhooks: z.array(webhookSchema) }).meta({ id: 'Webhooks' }),
      field: 'webhooks',
    },
  },
  set: {
    route: 'PUT /api/v1/webhooks/{webhook}',
    tag: 'webhooks',
    scope: 'sandboxes:write',
    summary: 'Create or replace a webhook',
    description:
      'Events of your sandboxes are sent to the URL as a signed POST request (Standard Webhooks), and repeated for a day until the server answers with 2xx.',
    params: webhookParams,
    body: { description: 'The address and the events.', schema: newWebhookSchema },
    answer: {
      description: 'The webhook.',
      schema: webhookSchema
        .extend({
          signing_secret: z
            .string()
            .nullable()
            .describe('Shown only here; null if there was a secret of this name before.'),
        })
        .meta({ id: 'SetWebhook' }),
    },
  },
  remove: {
    route: 'DELETE /api/v1/webhooks/{webhook}',
    tag: 'webhooks',
    scope: 'sandboxes:write',
    summary: 'Remove a webhook with its secret and its waiting calls',
    params: webhookParams,
    answer: { description: 'Whether there was such a webhook.', schema: removedSchema, field: 'removed' },
    refuses: notFound,
  },
  deliveries: {
    route: 'GET /api/v1/webhooks/{webhook}/deliveries',
    tag: 'webhooks',
    scope: 'sandboxes:read',
    summary: 'List the calls of a webhook',
    params: webhookParams,
    query: z.strictObject({ limit: z.coerce.number().int().min(1).max(1000).default(100) }),
    answer: {
      description: 'Newest first: the waiting ones and the last 100 others.',
      schema: z.object({ deliveries: z.array(deliverySchema) }).meta({ id: 'WebhookDeliveries' }),
      field: 'deliveries',
    },
    refuses: notFound,
  },
});
