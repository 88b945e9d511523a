/** The path of the Model Context Protocol. What is spoken there is for whoever gives the door to say. */
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { ApiEnv } from '../../environment.ts';

/** Answers a request, and may call this API for the same caller while it does: with the same key, and no other. */
export type McpDoor = (
  request: Request,
  callApi: (path: string, init: RequestInit) => Promise<Response>,
) => Promise<Response>;

/** Headers that say who asks. */
const callerHeaders = ['authorization', 'geode-user'];

export function serveMcp(app: OpenAPIHono<ApiEnv>, door: McpDoor): void {
  app.all('/mcp', ({ req, env }) =>
    door(req.raw, async (path, init) => {
      const headers = new Headers(init.headers);
      for (const name of callerHeaders) {
        const value = req.header(name);
        if (value !== undefined) headers.set(name, value);
      }
      headers.set('host', 'localhost');
      return app.fetch(new Request(`http://localhost${path}`, { ...init, headers }), env);
    }),
  );
}
