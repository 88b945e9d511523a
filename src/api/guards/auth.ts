/**
 * Finds out who asks, and hands the routes that user's memory and nothing else: a route cannot name a
 * namespace, so no mistake in a route shows one user's entries to another.
 */
import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import { GeodeError } from '../../core/errors.ts';
import { localUser } from '../../core/identity.ts';
import type { ApiEnv, ApiOptions, ApiParts, Caller } from '../environment.ts';
import { type KeyStore, keyPattern, type Scope, scopes } from '../keys.ts';
import { createRateLimiter, type RateLimiter } from './rate-limit.ts';

export function authenticate({ keys, memory }: ApiParts, { rate, failureRate }: ApiOptions) {
  const requests = createRateLimiter(rate);
  const failures = createRateLimiter(failureRate);

  return createMiddleware<ApiEnv>(async (context, next) => {
    const caller = keys === 'off' ? everyone : identify(keys, context);
    spend(requests, caller.keyId, 'This key sends too many requests');
    context.set('caller', caller);
    context.set('memory', memory.in(caller.user));
    await next();
  });

  function identify(known: KeyStore, { req, env }: Context<ApiEnv>): Caller {
    const header = req.header('authorization');
    const isInUrl = keyPattern.test(req.url);
    const key = isInUrl ? null : known.verify(/^Bearer +(\S+)$/i.exec(header ?? '')?.[1] ?? '');
    if (key) return { user: key.user, keyId: key.id, scopes: key.scopes };
    spend(failures, env.incoming.socket.remoteAddress ?? '', 'Too many requests without a good key');
    if (isInUrl) throw new GeodeError('unauthorized', 'A key in a URL ends up in logs, so it is not taken');
    if (header === undefined) throw new GeodeError('unauthorized', 'This path needs an API key');
    throw new GeodeError('unauthorized', 'The API key is not known, or it was revoked');
  }
}

const everyone: Caller = { user: localUser, keyId: 'none', scopes };

/** Lets only keys with this scope through. */
export function requireScope(scope: Scope) {
  return createMiddleware<ApiEnv>(async (context, next) => {
    if (!context.var.caller.scopes.includes(scope)) {
      throw new GeodeError('forbidden', `This key does not have the scope ${scope}`);
    }
    await next();
  });
}

function spend(limiter: RateLimiter, caller: string, complaint: string): void {
  const waitMs = limiter.take(caller);
  if (waitMs > 0) {
    throw new GeodeError('rate_limited', complaint, { details: { retry_after_s: Math.ceil(waitMs / 1000) } });
  }
}
