/** Routes of this wire. Those with an id are the tools that its OpenAPI document offers to models. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi';
import type { ApiEnv } from '../../api/environment.ts';
import { GeodeError } from '../../base/errors.ts';

export type WireDoor = OpenAPIHono<ApiEnv>;

export function newDoor(): WireDoor {
  return new OpenAPIHono<ApiEnv>({
    defaultHook: (result) => {
      if (result.success) return;
      const place = result.target === 'json' ? 'body' : result.target === 'param' ? 'path' : result.target;
      const problems = result.error.issues.map(({ code, message, path, input }) => ({
        type: code === 'invalid_type' && input === undefined ? 'missing' : code,
        loc: [place, ...path],
        msg: message,
        input: input ?? null,
      }));
      throw new GeodeError('invalid_input', 'The request is not valid.', { details: { problems } });
    },
  });
}

interface Tool<Query extends z.ZodObject, Params extends z.ZodObject> {
  readonly id: string;
  readonly summary: string;
  readonly description: string;
  readonly query?: Query;
  readonly params?: Params;
}

const none = z.object({});

export function tool<
  Path extends string,
  Query extends z.ZodObject = typeof none,
  Params extends z.ZodObject = typeof none,
>(method: 'get' | 'delete', path: Path, { id, query, params, ...words }: Tool<Query, Params>) {
  return createRoute({
    method,
    path,
    operationId: id,
    ...words,
    request: { query: (query ?? none) as Query, params: (params ?? none) as Params },
    responses: { 200: { description: 'The answer, in JSON.' } },
  });
}

/** A tool with a JSON body. */
export function bodyTool<
  Path extends string,
  Body extends z.ZodObject,
  Query extends z.ZodObject = typeof none,
  Params extends z.ZodObject = typeof none,
>(path: Path, { id, query, params, body, ...words }: Tool<Query, Params> & { readonly body: Body }) {
  return createRoute({
    method: 'post',
    path,
    operationId: id,
    ...words,
    request: {
      query: (query ?? none) as Query,
      params: (params ?? none) as Params,
      body: { required: true, content: { 'application/json': { schema: body } } },
    },
    responses: { 200: { description: 'The answer, in JSON.' } },
  });
}

/** A flag in a query. */
export function flag(usual: boolean) {
  return z
    .enum(['true', 'false', '1', '0', 'True', 'False'])
    .default(usual ? 'true' : 'false')
    .transform((value) => ['true', '1', 'True'].includes(value));
}

/** A parameter that may be given once or several times. */
export const texts = z
  .union([z.string(), z.array(z.string())])
  .optional()
  .transform((value) => (value === undefined ? [] : [value].flat()));
