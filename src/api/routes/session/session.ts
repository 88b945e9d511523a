/** Logging in to the dashboard and out of it. */
import type { Context } from 'hono';
import { deleteCookie, setCookie } from 'hono/cookie';
import { linkSchema, loginSchema, newLinkSchema, sessionSchema } from '../../../contract/session.ts';
import { GeodeError } from '../../../core/errors.ts';
import { createRateLimiter, type RateLimit } from '../../../core/rate-limit.ts';
import type { ApiEnv } from '../../environment.ts';
import { requireScope } from '../../guards/auth.ts';
import { cookieName, sessionOf } from '../../guards/session.ts';
import {
  bodyRefusals,
  defineRoute,
  json,
  jsonBody,
  limitEntryBody,
  refusals,
  security,
} from '../../route.ts';
import type { Logins } from '../../sessions.ts';

export function sessionRoutes(logins: Logins, version: string, failureRate: RateLimit) {
  const failures = createRateLimiter(failureRate);

  const login = defineRoute(
    {
      method: 'post',
      path: '/login',
      summary: 'Open a session of the dashboard with the code of a link',
      tags: ['dashboard'],
      middleware: limitEntryBody,
      request: { body: jsonBody('The code, which is good for once.', loginSchema) },
      responses: {
        204: { description: 'The cookie is set: HttpOnly, for this site only.' },
        ...refusals,
        ...bodyRefusals,
      },
    },
    (context) => {
      const { code, path = '/' } = context.req.valid('json');
      const opened = logins.open(code);
      if (opened === null) {
        const waitMs = failures.take(context.env.incoming.socket.remoteAddress ?? '');
        if (waitMs > 0)
          throw new GeodeError('rate_limited', 'Too many attempts to log in', {
            details: { retry_after_s: Math.ceil(waitMs / 1000) },
          });
        throw new GeodeError('unauthorized', 'This link was used already, or it is too old', {
          hint: 'Run `geode dashboard` for a new one.',
        });
      }
      setCookie(context, cookieName(context), opened.secret, {
        ...cookieFacts(context, path),
        expires: opened.session.expiresAt,
      });
      return context.body(null, 204);
    },
  );

  const show = defineRoute(
    {
      method: 'get',
      path: '/session',
      summary: 'Who asks, and what they may do',
      tags: ['dashboard'],
      security,
      responses: { 200: json('The user and the scopes.', sessionSchema), ...refusals },
    },
    (context) => {
      const { user, scopes } = context.var.caller;
      const expires_at = sessionOf(context, logins)?.expiresAt.toISOString() ?? null;
      return context.json({ user, scopes: [...scopes], version, expires_at }, 200);
    },
  );

  const logout = defineRoute(
    {
      method: 'delete',
      path: '/session',
      summary: 'End the session of this browser',
      tags: ['dashboard'],
      security,
      responses: { 204: { description: 'The cookie is worth nothing from now on.' }, ...refusals },
    },
    (context) => {
      const session = sessionOf(context, logins);
      if (session !== null) logins.end(session.id);
      deleteCookie(context, cookieName(context), cookieFacts(context, '/'));
      return context.body(null, 204);
    },
  );

  const link = defineRoute(
    {
      method: 'post',
      path: '/api/v1/login-links',
      summary: 'Make a link that opens the dashboard once',
      tags: ['dashboard'],
      security,
      middleware: [requireScope('admin'), limitEntryBody],
      request: { body: jsonBody('Whose dashboard.', newLinkSchema) },
      responses: {
        201: json('The only answer that holds the link.', linkSchema),
        ...refusals,
        ...bodyRefusals,
        409: refusals[400],
      },
    },
    (context) => {
      const { user = context.var.caller.user } = context.req.valid('json');
      const { url, expiresAt } = logins.link(user);
      return context.json({ url, expires_at: expiresAt.toISOString() }, 201);
    },
  );

  return [login, show, logout, link] as const;
}

/** Scripts cannot read the cookie, and no other site can have it sent. */
function cookieFacts({ req }: Context<ApiEnv>, path: string) {
  const secure = req.header('x-forwarded-proto') === 'https';
  return { path, secure, httpOnly: true, sameSite: 'Strict' } as const;
}
