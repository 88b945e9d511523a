import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import type { ApiEnv, ApiParts, Caller } from './environment.ts';

/** The protocol of another product that the server speaks in addition to its own. The host chooses the doors. */
export interface Door {
  /** The paths that it serves. */
  readonly paths: readonly string[];
  /** The caller of a request without a Geode key; undefined if the door does not know one. */
  caller(context: Context<ApiEnv>): Caller | undefined;
  /** The person that a request names, in the words of the door; believed only from a key with the scope `users`. */
  person?(context: Context<ApiEnv>): string | undefined;
  /**
   * Answers a request for a host name of a server in a sandbox; undefined for every other name. Such a name is not the
   * API: no check of the API applies before.
   */
  named?(context: Context<ApiEnv>, parts: ApiParts): Promise<Response> | undefined;
  /** Adds its routes. `authenticated` lets only known callers through and counts their requests. */
  serve(app: OpenAPIHono<ApiEnv>, parts: ApiParts, authenticated: MiddlewareHandler<ApiEnv>): void;
}
