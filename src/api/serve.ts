/** Connects handlers to declared operations: checks and renames the input, renames the answer. */
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { currentSpan } from '../base/spans.ts';
import { freeNames } from '../contract/free-names.ts';
import { camelName } from '../contract/names.ts';
import type { AnswerStatus, Family, Operation, Schema } from '../contract/operation.ts';
import { fromWire, toWire } from '../contract/rename.ts';
import type { AnswerOf, InputOf, StreamItemOf } from '../contract/types.ts';
import { type Bytes, giveBytes } from './bytes.ts';
import { type Call, callOf } from './call.ts';
import type { ApiEnv } from './environment.ts';
import { routeOf } from './routes-of.ts';
import { type Talk, talkIn } from './sockets.ts';
import { sendEvents } from './streams.ts';
import { leadConversation } from './upgrade.ts';
import { zodObjectOf } from './zod-of.ts';

/** Answers, or returns the source of the answer: events, bytes, or a conversation. */
type Handler<O> = (input: InputOf<O>, call: Call) => Answering<O> | Promise<Answering<O>>;

type Answering<O> =
  | (O extends { readonly answer: object } ? AnswerOf<O> | Answered<AnswerOf<O>> : never)
  | (O extends { readonly done: string } ? void : never)
  | (O extends { readonly stream: object } ? AsyncIterable<StreamItemOf<O>> : never)
  | (O extends { readonly gives: object } ? Bytes : never)
  | (O extends { readonly socket: object } ? (talk: Talk<O>) => Promise<void> : never);

/** One handler for each operation; undefined if the server has no part for it: then the operation does not exist. */
export type Handlers<F extends Family> = { readonly [K in keyof F]: Handler<F[K]> | undefined };

/** An answer with another status, which the declaration lists under `or`. */
export class Answered<T> {
  readonly status: AnswerStatus;
  readonly answer: T;

  constructor(status: AnswerStatus, answer: T) {
    this.status = status;
    this.answer = answer;
  }
}

interface AnyHandlers {
  readonly [name: string]: { handle(input: unknown, call: Call): unknown }['handle'] | undefined;
}

export function serve<F extends Family>(app: OpenAPIHono<ApiEnv>, family: F, handlers: Handlers<F>): void;
export function serve(app: OpenAPIHono<ApiEnv>, family: Family, handlers: AnyHandlers): void {
  for (const [name, operation] of Object.entries(family)) {
    const handle = handlers[name];
    if (handle === undefined) continue;
    refuseSameNames(operation);
    app.openapi(routeOf(operation), async (context: Checked) => {
      currentSpan()?.set({ 'geode.operation': `${operation.tag}.${name}` });
      return answer(context, operation, await handle(inputOf(operation, context), callOf(context)));
    });
  }
}

/** For matters of HTTP itself: the declaration documents it and checks its input, the handler returns a response. */
export function serveByHand<O extends Operation>(
  app: OpenAPIHono<ApiEnv>,
  operation: O,
  respond: (input: InputOf<O>, context: Context<ApiEnv>) => Response | Promise<Response>,
): void;
export function serveByHand(
  app: OpenAPIHono<ApiEnv>,
  operation: Operation,
  respond: { handle(input: unknown, context: Context<ApiEnv>): Response | Promise<Response> }['handle'],
): void {
  refuseSameNames(operation);
  app.openapi(routeOf(operation), async (context: Checked) => respond(inputOf(operation, context), context));
}

type Target = 'param' | 'query' | 'json' | 'form';
type Checked = Context<ApiEnv, string, { out: Record<Target, unknown> }>;

function inputOf({ params, query, body, form }: Operation, context: Checked): unknown {
  const part = (target: Target, schema: Schema | undefined) =>
    schema && fieldsOf(fromWire(context.req.valid(target), freeNames(schema)));
  return {
    ...part('param', params),
    ...part('query', query),
    ...part('json', body?.schema),
    ...(form && fieldsOf(context.req.valid('form'))),
  };
}

function fieldsOf(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {};
}

/** Path, query and body are one object, so two fields with one name would be mixed up. */
function refuseSameNames({ route, params, query, body, form }: Operation): void {
  const names = [params, query, body?.schema, form?.schema].flatMap((schema) =>
    schema === undefined ? [] : Object.keys(zodObjectOf(schema).shape).map(camelName),
  );
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new TypeError(`${route} has two fields ${twice}: rename one of them`);
}

function answer(context: Context<ApiEnv>, operation: Operation, result: unknown): Response {
  const { answer: declared, done, stream, gives, socket } = operation;
  if (socket && typeof result === 'function')
    return leadConversation(context, (conversation) => result(talkIn(conversation, operation)));
  const status = declared?.status ?? 200;
  if (stream && isIterable(result)) {
    const free = freeNames(stream.schema);
    return sendEvents(context, status, result, (item) => {
      if (stream.resumes !== true || !('event' in item)) return { event: toWire(item, free) };
      const next = 'next' in item && typeof item.next === 'number' ? item.next : undefined;
      return { event: toWire(item.event, free), next };
    });
  }
  if (gives && isBytes(result)) return giveBytes(context, gives, result);
  if (done !== undefined || declared === undefined) return context.body(null, 204);
  const given = result instanceof Answered ? result.answer : result;
  const at = result instanceof Answered ? result.status : status;
  const whole = declared.field === undefined ? given : { [declared.field]: given };
  return context.json(fieldsOf(toWire(whole, freeNames(declared.schema))), at);
}

function isBytes(result: unknown): result is Bytes {
  return typeof result === 'object' && result !== null && 'read' in result;
}

function isIterable(result: unknown): result is AsyncIterable<object> {
  return typeof result === 'object' && result !== null && Symbol.asyncIterator in result;
}
