/**
 * Endpoint for calls of platforms. No key: the platform signs its calls, and the channel verifies the signature
 * first.
 */
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { GeodeError, isGeodeError } from '../../base/errors.ts';
import { createRateLimiter, type RateLimit } from '../../base/rate-limit.ts';
import { platformCalls } from '../../contract/platform-calls.ts';
import type { Webhook } from '../../seams/channel.ts';
import type { Chats } from '../../seams/chat.ts';
import type { ApiEnv } from '../environment.ts';
import { serveByHand } from '../serve.ts';

export function servePlatformCalls(app: OpenAPIHono<ApiEnv>, chats: Chats, failureRate: RateLimit): void {
  const failures = createRateLimiter(failureRate);
  const of = (channel: string): Webhook => {
    const webhook = chats.webhook(channel);
    if (webhook !== undefined) return webhook;
    throw new GeodeError('route_not_found', `No platform calls a channel ${JSON.stringify(channel)} here`, {
      hint: 'Configure the channel; `geode status` shows the open ones.',
    });
  };
  serveByHand(app, platformCalls.confirm, async ({ channel, ...question }, context) => {
    const webhook = of(channel);
    const answer = await counted(failures, context, async () =>
      webhook.confirm({
        mode: question['hub.mode'],
        token: question['hub.verifyToken'],
        challenge: question['hub.challenge'],
      }),
    );
    return context.text(answer, 200);
  });
  serveByHand(app, platformCalls.take, async ({ channel }, context) => {
    const webhook = of(channel);
    const body = new Uint8Array(await context.req.arrayBuffer());
    const signature = context.req.header('x-hub-signature-256');
    await counted(failures, context, () => webhook.take(body, signature));
    return context.text('stored', 200);
  });
}

/** Slows down callers that guess signatures; the platform's own calls always succeed. */
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
    throw new GeodeError('rate_limited', 'Too many calls without a valid signature', {
      details: { retry_after_s: Math.ceil(waitMs / 1000) },
    });
  }
}
