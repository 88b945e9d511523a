/**
 * OpenAI's API at `/v1`: its clients talk to agents as models. A conversation is a chat of the house with its sandbox.
 */
import { randomUUID } from 'node:crypto';
import type { OpenAPIHono } from '@hono/zod-openapi';
import { Hono, type MiddlewareHandler } from 'hono';
import { bodyLimits } from '../../api/body-limits.ts';
import type { Door } from '../../api/door.ts';
import type { ApiEnv } from '../../api/environment.ts';
import { requireScope } from '../../api/guards/auth.ts';
import { GeodeError } from '../../base/errors.ts';
import type { Agents } from '../../seams/agent.ts';
import { chatCompletion } from './chat-completions.ts';
import { agentOf, modelNames } from './model-names.ts';
import { answerError } from './openai-errors.ts';
import { createResponse } from './responses.ts';

export function openAiDoor(agents: Agents): Door {
  return {
    paths: ['/v1/*'],
    caller: () => undefined,
    person: ({ req }) =>
      req.path.startsWith('/v1/')
        ? req.header('x-openwebui-user-id') || req.header('x-user-id') || undefined
        : undefined,
    serve: (app, _parts, authenticated) => serveOpenAi(app, agents, authenticated),
  };
}

function serveOpenAi(
  app: OpenAPIHono<ApiEnv>,
  agents: Agents,
  authenticated: MiddlewareHandler<ApiEnv>,
): void {
  const door = new Hono<ApiEnv>();
  door.onError(answerError);
  door.use(authenticated);
  door.use(requireScope('agents'));
  door.use(bodyLimits.many);
  door.get('/models', (context) =>
    context.json({ object: 'list', data: modelNames(agents).map(modelOf) }, 200),
  );
  door.get('/models/:name{.+}', (context) => {
    const name = context.req.param('name');
    agentOf(agents, name);
    return context.json(modelOf(name), 200);
  });
  door.post('/chat/completions', (context) => chatCompletion(context, agents));
  door.post('/responses', (context) => createResponse(context, agents));
  // The name of a chat that begins with its first response.
  door.post('/conversations', (context) =>
    context.json(
      {
        id: `conv_${randomUUID()}`,
        object: 'conversation',
        created_at: Math.floor(Date.now() / 1000),
        metadata: {},
      },
      200,
    ),
  );
  door.all('*', ({ req }) => {
    throw new GeodeError('route_not_found', `There is no ${req.method} ${req.path}`);
  });
  app.route('/v1', door);
}

function modelOf(id: string): object {
  return { id, object: 'model', created: 0, owned_by: 'geode' };
}
