/**
 * The cookie of the dashboard. Browsers send it with requests of any page to this server, so it counts only for
 * requests of the dashboard's own page: another port of this machine is the same site, but not the same origin.
 */
import type { Context } from 'hono';
import { getCookie } from 'hono/cookie';
import type { Logins, Session } from '../../identity/logins.ts';
import type { ApiEnv } from '../environment.ts';

export function sessionOf(context: Context<ApiEnv>, logins: Logins | undefined): Session | null {
  const secret = logins && getCookie(context, cookieName(context));
  return secret !== undefined && isFromOwnPage(context) ? (logins?.verify(secret) ?? null) : null;
}

/** Cookies ignore ports, so each server of a machine uses its own cookie name. */
export function cookieName({ req }: Context<ApiEnv>): string {
  const port = /:(\d+)$/.exec(req.header('host') ?? '')?.[1] ?? 'default';
  return `geode-session-${port}`;
}

/**
 * Over plain HTTP to another machine a browser sends no Sec-Fetch-Site. Then Origin shows it, except for a plain GET.
 */
function isFromOwnPage({ req, env }: Context<ApiEnv>): boolean {
  const origin = req.header('origin');
  const isOwnOrigin = origin !== undefined && URL.parse(origin)?.host === req.header('host')?.toLowerCase();
  if (env.upgrade !== undefined) return isOwnOrigin;
  const site = req.header('sec-fetch-site');
  if (site !== undefined) return site === 'same-origin';
  return isOwnOrigin || (origin === undefined && ['GET', 'HEAD'].includes(req.method));
}
