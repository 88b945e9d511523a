/** The HTTP API, from the outside in: what every request passes, then the routes. */
import { OpenAPIHono } from '@hono/zod-openapi';
import { createMiddleware } from 'hono/factory';
import { requestId } from 'hono/request-id';
import { secureHeaders } from 'hono/secure-headers';
import { GeodeError } from '../core/errors.ts';
import { serveDashboard } from './dashboard-files.ts';
import { tokenCaller } from './e2b/reach.ts';
import { serveE2b } from './e2b/serve-e2b.ts';
import type { ApiEnv, ApiOptions, ApiParts } from './environment.ts';
import { authenticate } from './guards/auth.ts';
import { checkOrigin } from './guards/origin.ts';
import { logRequests } from './log.ts';
import { describeApi } from './openapi.ts';
import { answerProblem, refuseInvalid } from './problems.ts';
import { reference } from './reference.ts';
import { agentRoutes } from './routes/agents/agents.ts';
import { approvalRoutes } from './routes/approvals/approvals.ts';
import { chatRoutes } from './routes/chats/chats.ts';
import { scheduleRoutes } from './routes/chats/schedules.ts';
import { senderRoutes } from './routes/chats/senders.ts';
import { webhookRoutes } from './routes/chats/webhooks.ts';
import { bulk } from './routes/context/bulk.ts';
import { categories } from './routes/context/categories.ts';
import { files } from './routes/context/files.ts';
import { get } from './routes/context/get.ts';
import { ingest } from './routes/context/ingest.ts';
import { list } from './routes/context/list.ts';
import { put } from './routes/context/put.ts';
import { remove } from './routes/context/remove.ts';
import { search } from './routes/context/search.ts';
import { contextRoutes } from './routes/contexts/contexts.ts';
import { egressRoutes } from './routes/egress/egress.ts';
import { policyRoutes } from './routes/egress/policy.ts';
import { secretRoutes } from './routes/egress/secrets.ts';
import { eventRoute } from './routes/events/events.ts';
import { fileRoutes } from './routes/files/index.ts';
import { imageRoutes } from './routes/images/images.ts';
import { journalRoutes } from './routes/journals/journals.ts';
import { keyRoutes } from './routes/keys/keys.ts';
import { serveMcp } from './routes/mcp/mcp.ts';
import { reindex } from './routes/memory/reindex.ts';
import { stats } from './routes/memory/stats.ts';
import { portRoutes } from './routes/ports/ports.ts';
import { freshExec } from './routes/processes/fresh-exec.ts';
import { processRoutes } from './routes/processes/index.ts';
import { runHistory } from './routes/runs/history.ts';
import { run } from './routes/runs/run.ts';
import { runSocket } from './routes/runs/run-socket.ts';
import { sandboxRoutes } from './routes/sandboxes/index.ts';
import { doctor } from './routes/server/doctor.ts';
import { health } from './routes/server/health.ts';
import { pull } from './routes/server/images.ts';
import { leave } from './routes/server/leave.ts';
import { machine } from './routes/server/machine.ts';
import { ready } from './routes/server/ready.ts';
import { runtimes } from './routes/server/runtimes.ts';
import { settings } from './routes/server/settings.ts';
import { sessionRoutes } from './routes/session/session.ts';
import { snapshotRoutes } from './routes/snapshots/snapshots.ts';
import { crystalRoutes } from './routes/solve/crystals.ts';
import { solveRoutes } from './routes/solve/solves.ts';
import { toolRoutes } from './routes/tools/tools.ts';

export function createApp(parts: ApiParts, options: ApiOptions, stopping: AbortSignal): OpenAPIHono<ApiEnv> {
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
  app.use(logRequests(parts.log));
  app.use(closeWhen(stopping));
  // This server speaks plain HTTP; whether a proxy before it pins TLS is the proxy's to say.
  app.use(secureHeaders({ strictTransportSecurity: false }));
  app.use(checkOrigin(options));
  // One middleware for all, so that a key has one allowance.
  const { e2b } = parts;
  const authenticated = authenticate(parts, options, (context) => e2b && tokenCaller(e2b, context));
  for (const path of ['/e2b/*', '/files']) app.use(path, refuseWhen(stopping));
  for (const path of ['/api/*', '/mcp', '/session']) {
    app.use(path, refuseWhen(stopping));
    app.use(path, authenticated);
  }

  app.openapiRoutes([health(parts.version), ready(parts.memory, stopping)]);
  // The paths with a name come before the one that takes any id.
  app.openapiRoutes([search, ingest, bulk, files, categories, list, get, put, remove]);
  app.openapiRoutes([stats(parts.memory), reindex(parts.memory)]);
  if (parts.sandboxes !== undefined) {
    app.openapiRoutes(sandboxRoutes(parts.sandboxes, parts.egress));
    app.openapiRoutes(processRoutes);
    app.openapiRoutes(fileRoutes);
    app.openapiRoutes(snapshotRoutes);
    if (parts.previews !== undefined) app.openapiRoutes(portRoutes(parts.previews));
    if (parts.tools !== undefined) app.openapiRoutes(toolRoutes(parts.tools));
    if (parts.journals !== undefined) app.openapiRoutes(journalRoutes(parts.journals));
  }
  if (parts.runs !== undefined)
    app.openapiRoutes([run(parts.runs, parts.egress), runSocket(parts.runs, parts.egress)]);
  if (parts.history !== undefined) app.openapiRoutes(runHistory(parts.history));
  if (parts.open !== undefined) app.openapiRoutes([freshExec(parts.open, parts.egress)]);
  if (parts.egress !== undefined) {
    if (parts.sandboxes !== undefined) app.openapiRoutes(policyRoutes(parts.egress));
    app.openapiRoutes(egressRoutes(parts.egress));
    app.openapiRoutes(secretRoutes(parts.egress.secrets));
  }
  if (parts.approvals !== undefined) app.openapiRoutes(approvalRoutes(parts.approvals));
  if (parts.contexts !== undefined) app.openapiRoutes(contextRoutes(parts.contexts));
  if (parts.image !== undefined) app.openapiRoutes([pull(parts.image)]);
  if (parts.images !== undefined) app.openapiRoutes(imageRoutes(parts.images));
  if (parts.probe !== undefined) app.openapiRoutes([runtimes(parts.probe)]);
  if (parts.doctor !== undefined) app.openapiRoutes([doctor(parts.doctor)]);
  if (parts.settings !== undefined) app.openapiRoutes([settings(parts.settings)]);
  if (parts.events !== undefined) app.openapiRoutes([eventRoute(parts.events)]);
  if (parts.agents !== undefined) app.openapiRoutes(agentRoutes(parts.agents));
  if (parts.solves !== undefined) {
    app.openapiRoutes(solveRoutes(parts.solves.of, parts.egress));
    app.openapiRoutes(crystalRoutes(parts.solves, parts.egress));
  }
  if (parts.chats !== undefined) {
    app.openapiRoutes(chatRoutes(parts.chats));
    app.openapiRoutes(senderRoutes(parts.chats));
    app.openapiRoutes(scheduleRoutes(parts.chats));
    app.openapiRoutes(webhookRoutes(parts.chats, options.failureRate));
  }
  if (parts.keys !== 'off') app.openapiRoutes(keyRoutes(parts.keys));
  if (parts.logins !== undefined)
    app.openapiRoutes(sessionRoutes(parts.logins, parts.version, options.failureRate));
  app.openapiRoutes([machine]);
  if (e2b !== undefined) serveE2b(app, parts, authenticated, e2b);
  if (parts.mcp !== undefined) serveMcp(app, parts.mcp(stopping));
  if (parts.leave !== undefined) app.openapiRoutes([leave(parts.leave)]);

  const document = describeApi(app, parts.version);
  app.get('/openapi.json', (context) => context.json(document));
  app.route('/reference', reference());
  if (parts.dashboardFolder !== undefined) serveDashboard(app, parts.dashboardFolder);
  return app;
}

function refuseWhen(stopping: AbortSignal) {
  return createMiddleware<ApiEnv>(async (_context, next) => {
    if (stopping.aborted) throw new GeodeError('stopping', 'The server is stopping');
    await next();
  });
}

/**
 * A client that keeps its connection open would hold the stop up. One whose body was refused unread must not use the
 * connection again: the rest of the body is still on its way.
 */
function closeWhen(stopping: AbortSignal) {
  return createMiddleware<ApiEnv>(async (context, next) => {
    await next();
    const isUnread = !context.env.incoming.complete && context.res.status >= 400;
    if (stopping.aborted || isUnread) context.header('Connection', 'close');
  });
}
