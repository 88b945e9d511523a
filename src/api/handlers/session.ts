/** Login to the dashboard and logout. Cookies are a matter of HTTP, so these handlers answer requests directly. */
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { deleteCookie, setCookie } from 'hono/cookie';
import { GeodeError } from '../../base/errors.ts';
import { createRateLimiter, type RateLimit } from '../../base/rate-limit.ts';
import { session } from '../../contract/session.ts';
import type { Logins } from '../../identity/logins.ts';
import type { ApiEnv } from '../environment.ts';
import { cookieName, sessionOf } from '../guards/session.ts';
import { serve, serveByHand } from '../serve.ts';

export function serveSession(
  app: OpenAPIHono<ApiEnv>,
  logins: Logins,
  version: string,
  failureRate: RateLimit,
): void {
  const failures = createRateLimiter(failureRate);
  serveByHand(app, session.login, ({ code, path = '/' }, context) => {
    const opened = logins.open(code);
    if (opened === null) {
      const waitMs = failures.take(context.env.incoming.socket.remoteAddress ?? '');
      if (waitMs > 0)
        throw new GeodeError('rate_limited', 'Too many attempts to log in', {
          details: { retry_after_s: Math.ceil(waitMs / 1000) },
        });
      throw new GeodeError('unauthorized', 'This link was already used or has expired', {
        hint: 'Get a new one: `geode dashboard`.',
      });
    }
    setCookie(context, cookieName(context), opened.secret, {
      ...cookieFacts(context, path),
      expires: opened.session.expiresAt,
    });
    return context.body(null, 204);
  });
  serveByHand(app, session.show, (_, context) => {
    const { user, scopes } = context.var.caller;
    const expires_at = sessionOf(context, logins)?.expiresAt.toISOString() ?? null;
    return context.json({ user, scopes, version, expires_at }, 200);
  });
  serveByHand(app, session.logout, (_, context) => {
    const known = sessionOf(context, logins);
    if (known !== null) logins.end(known.id);
    deleteCookie(context, cookieName(context), cookieFacts(context, '/'));
    return context.body(null, 204);
  });
  const { link } = session;
  serve(
    app,
    { link },
    {
      link({ user }, { caller }) {
        const { url, expiresAt } = logins.link(user ?? caller.user);
        return { url, expiresAt: expiresAt.toISOString() };
      },
    },
  );
}

/** Scripts cannot read the cookie, and other sites cannot have it sent. */
function cookieFacts({ req }: Context<ApiEnv>, path: string) {
  const secure = req.header('x-forwarded-proto') === 'https' || req.url.startsWith('https:');
  return { path, secure, httpOnly: true, sameSite: 'Strict' } as const;
}
