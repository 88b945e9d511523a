/**
 * Keeps web pages of other servers out. Any page that a person opens can send requests to this machine: under a name
 * of its own that resolves to 127.0.0.1 (so the Host is checked), or across origins (so the Origin is checked). A
 * page cannot send an IP address or `localhost` as its Host.
 */
import { isIP } from 'node:net';
import { cors } from 'hono/cors';
import { createMiddleware } from 'hono/factory';
import { GeodeError } from '../../base/errors.ts';
import type { ApiEnv, ApiOptions } from '../environment.ts';

export function checkOrigin({ callers, allowedHosts, allowedOrigins }: ApiOptions) {
  const allowCrossOrigin = cors({
    origin: [...allowedOrigins],
    exposeHeaders: ['X-Request-Id', 'Retry-After'],
  });

  return createMiddleware<ApiEnv>(async (context, next) => {
    // Web pages cannot reach a Unix socket.
    if (callers === 'socket') return next();
    const host = context.req.header('host') ?? '';
    if (!isTrustedHost(host, allowedHosts)) {
      throw new GeodeError('host_refused', `This server has no host name ${JSON.stringify(host)}`);
    }
    const origin = context.req.header('origin');
    if (origin !== undefined && allowedOrigins.includes(origin)) return allowCrossOrigin(context, next);
    if (isForeign(origin, host, context.req.header('sec-fetch-site'), context.req.header('sec-fetch-mode'))) {
      throw new GeodeError('origin_refused', `Pages of ${origin ?? 'other sites'} may not call this server`);
    }
    await next();
  });
}

function isTrustedHost(host: string, allowedHosts: readonly string[]): boolean {
  const name = /^(?:\[(.+)\]|([^:]+))(?::\d+)?$/.exec(host.toLowerCase());
  const hostname = name?.[1] ?? name?.[2] ?? '';
  return hostname === 'localhost' || isIP(hostname) !== 0 || allowedHosts.includes(hostname);
}

// A plain GET has no Origin; only Sec-Fetch-Site shows that it comes from another site. Following a link to this
// server is allowed.
function isForeign(origin: string | undefined, host: string, site = 'none', mode = 'navigate'): boolean {
  if (origin !== undefined) return URL.parse(origin)?.host !== URL.parse(`http://${host}`)?.host;
  return site !== 'none' && site !== 'same-origin' && mode !== 'navigate';
}
