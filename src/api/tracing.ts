/** One span for each request of an identified caller, until its answer is complete. */
import type { Context, MiddlewareHandler } from 'hono';
import { createMiddleware } from 'hono/factory';
import { matchedRoutes } from 'hono/route';
import { parseTraceparent, type Span, withSpan } from '../base/spans.ts';
import type { Telemetry } from '../seams/telemetry.ts';
import type { ApiEnv, Caller } from './environment.ts';

/** Identifies the caller with `authenticated`, then does the rest of the request in a span. */
export function traced(
  telemetry: Telemetry,
  authenticated: MiddlewareHandler<ApiEnv>,
): MiddlewareHandler<ApiEnv> {
  const tracing = createMiddleware<ApiEnv>(async (context, next) => {
    const span = spanOf(telemetry, context);
    try {
      await withSpan(span, next);
    } finally {
      const route = matchedRoutes(context).find((each) => each.method !== 'ALL')?.path ?? 'other';
      const { status } = context.res;
      span.name = `${context.req.method} ${route}`;
      span.set({ 'http.route': route, 'http.response.status_code': status });
      if (status >= 500) span.fail(`${status}`);
      endWithAnswer(span, context);
    }
  });
  return (context, next) => authenticated(context, async () => void (await tracing(context, next)));
}

/**
 * A trusted caller's trace goes on in this host. The trace of any other caller is only linked, so that nobody can add
 * to the traces of others or decide what is recorded.
 */
function spanOf(telemetry: Telemetry, { req, env, var: { caller } }: Context<ApiEnv>): Span {
  const given = env.reach === undefined ? parseTraceparent(req.header('traceparent')) : undefined;
  const ofTurn = env.reach && telemetry.turnOf(env.reach.user, env.reach.chat);
  const parent = ofTurn ?? (given && mayJoin(caller) ? given : undefined);
  return telemetry.root(req.method, {
    kind: 'server',
    parent,
    ...(given !== undefined && parent === undefined && { links: [given] }),
    attributes: {
      'http.request.method': req.method,
      'url.scheme': env.incoming !== undefined && 'encrypted' in env.incoming.socket ? 'https' : 'http',
      'geode.user': caller.user,
    },
  });
}

/** The operator, and programs that act for many people. */
function mayJoin({ actsFor, scopes }: Caller): boolean {
  return actsFor === 'anyone' || scopes.includes('admin') || scopes.includes('users');
}

/** Streams and conversations go on after the handler has returned. */
function endWithAnswer(span: Span, { env, res }: Context<ApiEnv>): void {
  const { incoming, outgoing, upgrade } = env;
  const isConversation = upgrade !== undefined && res.status < 400;
  const until = isConversation ? incoming?.socket : outgoing;
  if (until === undefined || until.destroyed || (upgrade !== undefined && !isConversation)) span.end();
  else until.once('close', () => span.end());
}
