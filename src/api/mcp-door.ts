/** The path of the Model Context Protocol. The given door handles the messages. */
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { ApiEnv, Caller } from './environment.ts';

/** Opened once for a server, and notified when it stops. */
export type McpDoor = (stopping: AbortSignal) => McpAnswer;

/** Answers a request, and may call this API for the same caller, with the same key only. */
type McpAnswer = (
  request: Request,
  caller: Caller,
  callApi: (path: string, init: RequestInit) => Promise<Response>,
) => Promise<Response>;

/** Headers that identify the caller. */
const callerHeaders = ['authorization', 'geode-user'];

export function serveMcp(app: OpenAPIHono<ApiEnv>, answer: McpAnswer): void {
  app.all('/mcp', ({ req, env, var: { caller } }) =>
    answer(req.raw, caller, async (path, init) => {
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
