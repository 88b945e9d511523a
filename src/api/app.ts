/** The HTTP API: first the checks that every request passes, then the routes. */
import { OpenAPIHono } from '@hono/zod-openapi';
import { createMiddleware } from 'hono/factory';
import { requestId } from 'hono/request-id';
import { secureHeaders } from 'hono/secure-headers';
import { GeodeError } from '../base/errors.ts';
import { serveDashboard } from './dashboard-files.ts';
import type { Door } from './door.ts';
import type { ApiEnv, ApiOptions, ApiParts } from './environment.ts';
import { authenticate } from './guards/auth.ts';
import { checkOrigin } from './guards/origin.ts';
import { logRequests } from './log.ts';
import { serveMcp } from './mcp-door.ts';
import { countRequests, serveMetrics } from './metrics.ts';
import { describeApi } from './openapi.ts';
import { answerProblem, refuseInvalid } from './problems.ts';
import { reference } from './reference.ts';
import { serveParts } from './serve-parts.ts';
import { serveSite } from './site-files.ts';
import { traced } from './tracing.ts';

export function createApi(parts: ApiParts, options: ApiOptions, stopping: AbortSignal): OpenAPIHono<ApiEnv> {
  const app = new OpenAPIHono<ApiEnv>({ defaultHook: refuseInvalid });
  app.onError(answerProblem);
  app.notFound((context) =>
    answerProblem(
      new GeodeError('route_not_found', `There is no ${context.req.method} ${context.req.path}`),
      context,
    ),
  );

  app.use(async (context, next) => {
    context.set('stopping', stopping);
    await next();
  });
  app.use(requestId({ limitLength: 64 }));
  // Before the log and the metrics, which are about the API.
  const { doors = [] } = parts;
  app.use((context, next) => firstOf(doors, (door) => door.named?.(context, parts)) ?? next());
  app.use(logRequests(parts.log));
  if (parts.measurements !== undefined) app.use(countRequests(parts.measurements));
  app.use(closeWhen(stopping));
  // This server speaks plain HTTP. A proxy in front of it decides whether to send HSTS.
  app.use(secureHeaders({ strictTransportSecurity: false }));
  app.use(checkOrigin(options));
  // One middleware for all routes, so that a key has one allowance.
  const identified = authenticate(parts, options, {
    known: (context) => firstOf(doors, (door) => door.caller(context)),
    person: (context) => firstOf(doors, (door) => door.person?.(context)),
  });
  const authenticated = parts.telemetry === undefined ? identified : traced(parts.telemetry, identified);
  for (const path of doors.flatMap(({ paths }) => paths)) app.use(path, refuseWhen(stopping));
  for (const path of ['/api/*', '/mcp', '/session']) {
    app.use(path, refuseWhen(stopping));
    app.use(path, authenticated);
  }

  if (parts.measurements !== undefined) serveMetrics(app, parts.measurements, authenticated, options);
  serveParts(app, parts, options);
  for (const door of doors) door.serve(app, parts, authenticated);
  if (parts.mcp !== undefined) serveMcp(app, parts.mcp(stopping));

  const document = describeApi(app, parts.version);
  app.get('/openapi.json', (context) => context.json(document));
  app.route('/reference', reference());
  if (parts.dashboardFolder !== undefined) serveDashboard(app, parts.dashboardFolder);
  if (parts.siteFolder !== undefined) serveSite(app, parts.siteFolder);
  return app;
}

function firstOf<T>(doors: readonly Door[], find: (door: Door) => T | undefined): T | undefined {
  for (const door of doors) {
    const found = find(door);
    if (found !== undefined) return found;
  }
  return undefined;
}

function refuseWhen(stopping: AbortSignal) {
  return createMiddleware<ApiEnv>(async (_context, next) => {
    if (stopping.aborted) throw new GeodeError('stopping', 'The server is stopping');
    await next();
  });
}

/**
 * A client that keeps its connection open would delay the stop. A client whose body was refused unread must not reuse
 * the connection, because the rest of the body is still being sent.
 */
function closeWhen(stopping: AbortSignal) {
  return createMiddleware<ApiEnv>(async (context, next) => {
    await next();
    const isUnread = !context.env.incoming.complete && context.res.status >= 400;
    if (stopping.aborted || isUnread) context.header('Connection', 'close');
  });
}
