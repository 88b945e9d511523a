/** Builds the route and the OpenAPI entry of a declared operation. */
import type { RouteConfig } from '@hono/zod-openapi';
import { z } from 'zod';
import { type Operation, type Schema, usualRefusals } from '../contract/operation.ts';
import { problemSchema } from '../contract/problem.ts';
import { bodyLimits } from './body-limits.ts';
import { anyBytes } from './bytes.ts';
import { requireScope } from './guards/auth.ts';
import { zodObjectOf, zodOf } from './zod-of.ts';

const methods = { GET: 'get', POST: 'post', PUT: 'put', PATCH: 'patch', DELETE: 'delete' } as const;

export function routeOf(operation: Operation): RouteConfig {
  const { route, tag, summary, description, scope, params, query } = operation;
  const [method = '', path = ''] = route.split(' ');
  const body = bodyOf(operation);
  return {
    method: Object.entries(methods).find(([name]) => name === method)?.[1] ?? 'get',
    path: path.replace(/\{\+(\w+)\}/, ':$1{[^]+}'),
    summary,
    ...(description !== undefined && { description }),
    tags: [tag],
    ...(scope !== 'nobody' && { security: [{ key: [] }] }),
    middleware: middlewareOf(operation),
    request: {
      ...(params && { params: zodObjectOf(params) }),
      ...(query && { query: zodObjectOf(query) }),
      ...(body && { body: { ...body, required: true } }),
    },
    responses: { ...answersOf(operation), ...refusalsOf(operation) },
  };
}

function middlewareOf({ scope, body, form, takes }: Operation) {
  const scopes = scope === 'any' || scope === 'nobody' ? [] : [scope].flat();
  const limit = form ? 'many' : (body?.limit ?? 'entry');
  // A signed body (from a platform) is read completely; other bytes are streamed.
  const isRead = body !== undefined || form !== undefined || takes?.type === '*/*';
  return [...scopes.map(requireScope), ...(isRead ? [bodyLimits[limit]] : [])];
}

function bodyOf({ body, form, takes }: Operation) {
  if (body) return json(body.description, body.schema);
  if (form)
    return {
      description: form.description,
      content: { 'multipart/form-data': { schema: zodOf(form.schema) } },
    };
  return takes && binary(takes.description, takes.type);
}

function answersOf({ answer, text, done, stream, gives, socket }: Operation): RouteConfig['responses'] {
  return {
    ...(socket && {
      101: { description: 'Opens the conversation.' },
      ...(stream === undefined && { 426: json('This path needs a WebSocket.', problemSchema) }),
    }),
    ...((answer ?? stream) && {
      [answer?.status ?? 200]: {
        description: answer?.description ?? stream?.description ?? '',
        content: {
          ...(answer && { 'application/json': { schema: zodOf(answer.schema) } }),
          ...(stream && { 'text/event-stream': { schema: zodOf(stream.schema) } }),
        },
      },
    }),
    ...(answer?.or && described(answer.or, answer.schema)),
    ...(text !== undefined && {
      200: { description: text, content: { 'text/plain': { schema: z.string() } } },
    }),
    ...(done !== undefined && { 204: { description: done } }),
    ...(gives && { 200: binary(gives.description, gives.type) }),
    ...(gives?.ranges && {
      206: binary('The range.'),
      416: json('The range is beyond the end.', problemSchema),
    }),
  };
}

function refusalsOf({ scope, reaches, body, form, takes, refuses }: Operation): RouteConfig['responses'] {
  return described(
    {
      ...(scope !== 'nobody' && usualRefusals),
      ...(reaches === 'sandbox' && sandboxRefusals),
      ...((body || form || takes) && bodyRefusals),
      ...refuses,
    },
    problemSchema,
  );
}

function described(descriptions: Readonly<Record<number, string>>, schema: Schema): RouteConfig['responses'] {
  return Object.fromEntries(
    Object.entries(descriptions).map(([status, each]) => [status, json(each, schema)]),
  );
}

function json(description: string, schema: Schema) {
  return { description, content: { 'application/json': { schema: zodOf(schema) } } };
}

function binary(description: string, type: string = anyBytes) {
  return { description, content: { [type]: { schema: z.string().meta({ format: 'binary' }) } } };
}

const sandboxRefusals = {
  404: 'The caller has no object with this name or id.',
  408: 'The caller left.',
  409: "The object's state does not allow this: stopped, paused, already existing or busy.",
  410: 'The sandbox has ended.',
  413: 'Too many or too large.',
  422: 'The runtime cannot do this, or the program cannot be started.',
  502: 'The engine, the registry or the guest failed.',
  504: 'The sandbox did not answer in time.',
  507: 'The disk is full.',
};

const bodyRefusals = {
  413: 'The body or a field in it is too large.',
  415: 'The path does not accept this Content-Type.',
  507: 'The disk is full.',
};
