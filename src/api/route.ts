/** What all routes have in common: how one is written, how it refuses, how much it reads. */
import type { RouteConfig, RouteHandler } from '@hono/zod-openapi';
import { bodyLimit } from 'hono/body-limit';
import { type ZodType, z } from 'zod';
import { problemSchema } from '../contract/problem.ts';
import { GeodeError } from '../core/errors.ts';
import type { ApiEnv } from './environment.ts';

/** One route: what the OpenAPI file says about it, and what it does. */
export function defineRoute<R extends RouteConfig>(route: R, handler: RouteHandler<R, ApiEnv>) {
  return { route, handler };
}

/** A body that must be there. */
export function jsonBody<Schema extends ZodType>(description: string, schema: Schema) {
  return { ...json(description, schema), required: true };
}

export function json<Schema extends ZodType>(description: string, schema: Schema) {
  return { description, content: { 'application/json': { schema } } };
}

/** What a route with a key may answer besides its result. */
export const refusals = {
  400: json('The request is not valid.', problemSchema),
  401: json('The API key is missing, unknown or revoked.', problemSchema),
  403: json('The key lacks the scope, or the Host or Origin is not trusted.', problemSchema),
  429: json('Too many requests; `Retry-After` says how long to wait.', problemSchema),
  500: json('A defect of Geode.', problemSchema),
  503: json('A part is down, or the server is stopping.', problemSchema),
};

export const notFoundRefusal = {
  404: json('There is nothing of the caller with a name or an id that the request gives.', problemSchema),
};

/** What a route that reaches into a sandbox may answer: the sandbox, its runtime or its files refuse. */
export const sandboxRefusals = {
  ...refusals,
  ...notFoundRefusal,
  408: json('The caller left.', problemSchema),
  409: json('It is not in a state for this: stopped, paused, there already, busy.', problemSchema),
  410: json('The sandbox has ended.', problemSchema),
  413: json('More than can be taken or given at once.', problemSchema),
  422: json('The runtime cannot do this, or the program cannot be started.', problemSchema),
  502: json('The engine, the registry or the guest failed.', problemSchema),
  504: json('The sandbox did not answer in time.', problemSchema),
  507: json('The disk is full.', problemSchema),
};

/** What a route with a WebSocket answers. */
export const socketAnswers = {
  101: { description: 'The conversation begins.' },
  426: json('This path is a WebSocket.', problemSchema),
};

/** A stream of events that a caller may leave and come back to. */
export function eventStream<Schema extends ZodType>(description: string, schema: Schema) {
  return { description, content: { 'text/event-stream': { schema } } };
}

/** Bytes as they are. */
export function binary(description: string) {
  return {
    description,
    content: { 'application/octet-stream': { schema: z.string().meta({ format: 'binary' }) } },
  };
}

/** What a route that reads a body may answer as well. */
export const bodyRefusals = {
  413: json('The body or a field in it is too large.', problemSchema),
  415: json('The Content-Type is not one that this path takes.', problemSchema),
  507: json('The disk is full.', problemSchema),
};

/** What a route that writes entries may answer: one may name others, which must be there. */
export const writeRefusals = { ...refusals, ...bodyRefusals, ...notFoundRefusal };

export const security = [{ key: [] }];

// JSON may write one character in six bytes, and an entry has up to a million of them.
export const limitEntryBody = limitBody(8 * 1024 * 1024);
/** A command and its stdin. */
export const limitCommandBody = limitBody(16 * 1024 * 1024);
export const limitBulkBody = limitBody(64 * 1024 * 1024);

function limitBody(maxSize: number) {
  return bodyLimit({
    maxSize,
    onError: () => {
      throw new GeodeError('too_large', `The body is larger than ${maxSize} bytes`);
    },
  });
}
