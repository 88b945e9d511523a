/**
 * The E2B API below `/e2b`: E2B's public SDKs work unchanged when both of their addresses point here. Requests about
 * sandboxes use a Geode key; requests to a sandbox use the token from opening it.
 */
import type { OpenAPIHono } from '@hono/zod-openapi';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { createMiddleware } from 'hono/factory';
import { bodyLimits } from '../../api/body-limits.ts';
import type { Door } from '../../api/door.ts';
import type { ApiEnv, ApiParts } from '../../api/environment.ts';
import { requireScope } from '../../api/guards/auth.ts';
import { errorOf, problemFor } from '../../api/problems.ts';
import { errorCatalogue } from '../../base/error-catalogue.ts';
import { GeodeError } from '../../base/errors.ts';
import { codeRoutes } from './code-routes.ts';
import { connectError } from './connect-protocol.ts';
import { fileRoutes } from './file-routes.ts';
import { filesystemCalls } from './filesystem-calls.ts';
import { answerNamed } from './host-names.ts';
import type { E2b } from './open-e2b.ts';
import { processCalls } from './process-calls.ts';
import { reachIn, tokenCaller } from './reach.ts';
import { sandboxRoutes } from './sandbox-routes.ts';
import { snapshotRoutes } from './snapshot-routes.ts';

const calls = ['/process.Process/*', '/filesystem.Filesystem/*'];
const inside = [...calls, '/files', '/health', '/execute', '/contexts/*'];

export function e2bDoor(e2b: E2b): Door {
  return {
    paths: ['/e2b/*', '/files'],
    caller: (context) => tokenCaller(e2b, context),
    named: (context, parts) => answerNamed(context, e2b, parts),
    serve: (app, parts, authenticated) => serveE2b(app, parts, authenticated, e2b),
  };
}

function serveE2b(
  app: OpenAPIHono<ApiEnv>,
  parts: ApiParts,
  authenticated: MiddlewareHandler<ApiEnv>,
  e2b: E2b,
): void {
  const door = new Hono<ApiEnv>();
  door.onError(answer);
  door.use(authenticated);
  door.use((context, next) =>
    context.req.path.endsWith('/files') ? next() : bodyLimits.command(context, next),
  );
  for (const path of inside) door.use(path, requireScope('sandboxes:write'));
  const reach = reachIn(e2b);
  door.get('/health', async (context) => {
    await reach(context);
    return context.body(null, 204);
  });
  processCalls(door, reach);
  filesystemCalls(door, reach);
  fileRoutes(door, reach);
  if (parts.contexts !== undefined) codeRoutes(door, reach, parts.contexts);

  const outside = createMiddleware<ApiEnv>(async ({ var: { caller } }, next) => {
    if (caller.keyId.startsWith('sandbox '))
      throw new GeodeError('unauthorized', 'The token of a sandbox opens only that sandbox.');
    await next();
  });
  // Even reading needs this scope, because the answer contains the sandbox's token.
  for (const path of ['/sandboxes/*', '/v2/sandboxes/*', '/snapshots', '/templates/*']) {
    door.use(path, outside);
    door.use(path, requireScope('sandboxes:write'));
  }
  sandboxRoutes(door, e2b, parts.egress);
  snapshotRoutes(door, e2b);
  door.all('*', ({ req }) => {
    throw new GeodeError('route_not_found', `There is no ${req.method} ${req.path}`);
  });
  app.route('/e2b', door);

  // The SDK signs URLs of the server's root, whatever path its address has.
  const signed = new Hono<ApiEnv>();
  signed.onError(answer);
  signed.use('/files', authenticated, requireScope('sandboxes:write'));
  fileRoutes(signed, reach);
  app.route('/', signed);
}

/** Each part of the E2B API has its own error format. */
function answer(thrown: unknown, context: Context<ApiEnv>): Response {
  const path = context.req.path;
  if (/\/(process\.Process|filesystem\.Filesystem)\//.test(path)) {
    const { status, body } = connectError(context, thrown);
    return context.json(body, status === 499 ? 408 : status);
  }
  const error = errorOf(thrown, context);
  const isInside = /^(\/e2b)?\/(files|health|execute|contexts)\b/.test(path);
  const { status } = errorCatalogue[error.code];
  // E2B's proxy answers 502 for a missing sandbox.
  const code = isInside && error.code.startsWith('sandbox_') ? 502 : status === 499 ? 408 : status;
  const { error: message, hint } = problemFor(context, error);
  return context.json({ code, message: `${message} ${hint ?? ''}`.trim() }, code);
}
