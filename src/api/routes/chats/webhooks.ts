import type { Context } from 'hono';
import { z } from 'zod';
import { webhookParams, webhookQuestion } from '../../../contract/chats.ts';
import type { Webhook } from '../../../core/channel.ts';
import type { Chats } from '../../../core/chat.ts';
import { GeodeError, isGeodeError } from '../../../core/errors.ts';
import { createRateLimiter, type RateLimit } from '../../../core/rate-limit.ts';
import type { ApiEnv } from '../../environment.ts';
import { bodyRefusals, defineRoute, limitEntryBody, notFoundRefusal, refusals } from '../../route.ts';

const path = '/webhooks/{channel}';
const tags = ['chats'];
const plainText = (description: string) => ({
  description,
  content: { 'text/plain': { schema: z.string() } },
});

/** Where platforms call. No key: what they send is signed, and the channel checks it before anything else. */
export function webhookRoutes(chats: Chats, failureRate: RateLimit) {
  const failures = createRateLimiter(failureRate);
  const of = (channel: string): Webhook => {
    const webhook = chats.webhook(channel);
    if (webhook !== undefined) return webhook;
    throw new GeodeError('route_not_found', `No platform calls ${JSON.stringify(channel)} here`, {
      hint: 'Set the channel up in the config; `geode status` shows those that are open.',
    });
  };
  return [
    defineRoute(
      {
        method: 'get',
        path,
        summary: 'Confirm to a platform that this is the address of its channel',
        tags,
        request: { params: webhookParams, query: webhookQuestion },
        responses: { 200: plainText('What the platform asked to hear.'), ...refusals, ...notFoundRefusal },
      },
      async (context) => {
        const webhook = of(context.req.valid('param').channel);
        const question = context.req.valid('query');
        const answer = await counted(failures, context, async () =>
          webhook.confirm({
            mode: question['hub.mode'],
            token: question['hub.verify_token'],
            challenge: question['hub.challenge'],
          }),
        );
        return context.text(answer, 200);
      },
    ),
    defineRoute(
      {
        method: 'post',
        path,
        summary: 'What a platform sends to its channel',
        description:
          'Signed by the platform (`X-Hub-Signature-256`). All of it is stored when this answers 200; otherwise the platform sends it again.',
        tags,
        middleware: limitEntryBody,
        request: {
          params: webhookParams,
          body: {
            description: 'As the platform signed it.',
            content: { '*/*': { schema: z.string().meta({ format: 'binary' }) } },
          },
        },
        responses: { 200: plainText('It is stored.'), ...refusals, ...bodyRefusals, ...notFoundRefusal },
      },
      async (context) => {
        const webhook = of(context.req.valid('param').channel);
        const body = new Uint8Array(await context.req.arrayBuffer());
        const signature = context.req.header('x-hub-signature-256');
        await counted(failures, context, () => webhook.take(body, signature));
        return context.text('stored', 200);
      },
    ),
  ] as const;
}

/** Whoever guesses is slowed down; the platform itself never fails. */
async function counted<T>(
  failures: ReturnType<typeof createRateLimiter>,
  { env }: Context<ApiEnv>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isGeodeError(error, 'unauthorized')) throw error;
    const waitMs = failures.take(env.incoming.socket.remoteAddress ?? '');
    if (waitMs === 0) throw error;
    throw new GeodeError('rate_limited', 'Too many calls that no platform signed', {
      details: { retry_after_s: Math.ceil(waitMs / 1000) },
    });
  }
}
