/** `/metrics` for Prometheus, and the count of requests that it shows. */
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { MiddlewareHandler } from 'hono';
import { createMiddleware } from 'hono/factory';
import { matchedRoutes } from 'hono/route';
import { metricsType } from '../base/metrics-text.ts';
import type { Measurements } from '../seams/measurements.ts';
import type { ApiEnv, ApiOptions } from './environment.ts';
import { requireScope } from './guards/auth.ts';
import { signalOf } from './streams.ts';

const path = '/metrics';
const loopback = /^(::ffff:)?127\.|^::1$/;
/** A proxy on this machine sends requests of others. */
const ofProxies = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'];

export function countRequests(measurements: Measurements): MiddlewareHandler<ApiEnv> {
  return createMiddleware<ApiEnv>(async (context, next) => {
    const start = performance.now();
    await next();
    const route = matchedRoutes(context).find((each) => each.method !== 'ALL')?.path ?? 'other';
    const seconds = (performance.now() - start) / 1000;
    measurements.countRequest({ method: context.req.method, route, status: context.res.status, seconds });
  });
}

export function serveMetrics(
  app: OpenAPIHono<ApiEnv>,
  measurements: Measurements,
  authenticated: MiddlewareHandler<ApiEnv>,
  { metrics }: Pick<ApiOptions, 'metrics'>,
): void {
  const isFree = ({ req, env }: Parameters<MiddlewareHandler<ApiEnv>>[0]) =>
    metrics === 'loopback' &&
    loopback.test(env.incoming.socket.remoteAddress ?? '') &&
    !ofProxies.some((name) => req.header(name) !== undefined);
  const needsScope = requireScope('admin');
  app.use(path, (context, next) =>
    isFree(context) ? next() : authenticated(context, async () => void (await needsScope(context, next))),
  );
  app.get(path, async (context) =>
    context.body(await measurements.text({ signal: signalOf(context) }), 200, {
      'content-type': metricsType,
    }),
  );
}
