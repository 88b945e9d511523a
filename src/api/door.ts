import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import type { ApiEnv, ApiParts, Caller } from './environment.ts';

/** A foreign wire that the server speaks beside its own. The host chooses which doors there are. */
export interface Door {
  /** The paths that it answers. */
  readonly paths: readonly string[];
  /** The caller of a request that comes without a key of Geode; undefined where the door knows none. */
  caller(context: Context<ApiEnv>): Caller | undefined;
  /** Adds its routes. `authenticated` lets only known callers through, and counts their requests. */
  serve(app: OpenAPIHono<ApiEnv>, parts: ApiParts, authenticated: MiddlewareHandler<ApiEnv>): void;
}
