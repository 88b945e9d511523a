/** The client's calls, built from the table of operations: paths, bodies, names, events and errors. */

import type { Cancel } from '../base/cancel.ts';
import type { Contract } from '../contract/contract.ts';
import { chatSegment } from '../contract/encoding.ts';
import { camelName } from '../contract/names.ts';
import type { Family, Operation } from '../contract/operation.ts';
import { type Free, fromWire, toWire } from '../contract/rename.ts';
import type {
  GivenBodyOf,
  GivenFirstOf,
  GivenMessageOf,
  GivenQueryOf,
  ReadEventOf,
  ReadMessageOf,
  ResultOf,
} from '../contract/types.ts';
import { followEvents, streamEvents } from './events.ts';
import { operationTable } from './operation-table.ts';
import { type ApiConnection, ask, type QueryValues, queryText, type Sending, send } from './send.ts';
import { type ClientTalk, openTalk } from './talk.ts';
import type { HttpAnswer } from './transport.ts';

/** The part of an operation that the client needs at run time; the rest of the declaration is types. */
export interface OperationEntry {
  readonly route: string;
  /** Query parameters by their wire names; a caller may pass an object with more fields. */
  readonly query?: readonly string[];
  /** `form` and bytes are sent as they are given; on a socket, `json` is the first message. */
  readonly sends?: 'json' | 'form' | 'application/octet-stream' | 'application/x-tar' | '*/*';
  readonly gives:
    | 'json'
    | 'nothing'
    | 'text'
    | 'events'
    | 'json-or-events'
    | 'bytes'
    | 'socket'
    | 'events-or-socket';
  readonly field?: string;
  /** Reopens a lost stream, until one of these events. */
  readonly again?: readonly string[];
  /** Error statuses that count as an answer. */
  readonly accepted?: readonly number[];
  readonly bodyFree?: Free;
  readonly answerFree?: Free;
  readonly eventFree?: Free;
}

type Path<R> = R extends `${string}{${string}}${infer Rest}` ? [name: string, ...Path<Rest>] : [];

type Sent<O> = O extends { readonly body: object }
  ? [body: GivenBodyOf<O>]
  : O extends { readonly form: object }
    ? [form: FormData]
    : O extends { readonly takes: object }
      ? [bytes: NonNullable<Sending['body']>]
      : O extends { readonly socket: { readonly first: object } }
        ? [first: GivenFirstOf<O>]
        : [];

type Again<O> = O extends { readonly stream: { readonly again: object } }
  ? {
      /** How long a host may be away before reading fails; default 30 s. */
      readonly patienceMs?: number | undefined;
    }
  : unknown;

type Options<O> = GivenQueryOf<O> & Cancel & Again<O>;
type OptionsLast<O> =
  Record<never, never> extends Options<O> ? [options?: Options<O>] : [options: Options<O>];
type Arguments<O extends Operation> = [...Path<O['route']>, ...Sent<O>, ...OptionsLast<O>];

/** Path names first, then the body, then the query together with the signal. */
export type Calls<F extends Family> = {
  readonly [K in keyof F as F[K] extends { readonly answer: object } | { readonly done: string }
    ? K
    : never]: (...given: Arguments<F[K]>) => Promise<ResultOf<F[K]>>;
} & {
  /** The method for events, where an operation also has a plain answer. */
  readonly [K in keyof F as F[K] extends { readonly stream: object }
    ? F[K] extends { readonly answer: object }
      ? `${K & string}Events`
      : K
    : never]: (...given: Arguments<F[K]>) => AsyncGenerator<ReadEventOf<F[K]>>;
} & {
  readonly [K in keyof F as F[K] extends { readonly gives: object } ? K : never]: (
    ...given: [...Path<F[K]['route']>, options: Options<F[K]> & { readonly range?: string | undefined }]
  ) => Promise<HttpAnswer>;
} & {
  /** Sends the first message where there is one. The signal counts until the other end agreed to the conversation. */
  readonly [K in keyof F as F[K] extends { readonly stream: object }
    ? never
    : F[K] extends { readonly socket: object }
      ? K
      : never]: (...given: Arguments<F[K]>) => Promise<ClientTalk<GivenMessageOf<F[K]>, ReadMessageOf<F[K]>>>;
};

export function callsOf<N extends keyof Contract>(connection: ApiConnection, name: N): Calls<Contract[N]>;
export function callsOf(connection: ApiConnection, name: keyof Contract): object {
  const entries: Readonly<Record<string, OperationEntry>> = operationTable[name];
  return Object.fromEntries(
    Object.entries(entries).flatMap(([each, entry]) => callsFor(connection, each, entry)),
  );
}

function callsFor(connection: ApiConnection, name: string, entry: OperationEntry): [string, unknown][] {
  const { gives } = entry;
  const answered = (...given: unknown[]) => answerOf(connection, entry, given);
  const streamed = (...given: unknown[]) => eventsOf(connection, entry, given);
  if (gives === 'socket') return [[name, (...given: unknown[]) => talkOf(connection, entry, given)]];
  if (gives === 'events' || gives === 'events-or-socket') return [[name, streamed]];
  if (gives === 'json-or-events')
    return [
      [name, answered],
      [`${name}Events`, streamed],
    ];
  return [[name, answered]];
}

async function answerOf(connection: ApiConnection, entry: OperationEntry, given: readonly unknown[]) {
  const { gives, field, answerFree, accepted } = entry;
  const { method, path, sending, range } = requestOf(entry, given);
  const asking = accepted === undefined ? sending : { ...sending, accepted };
  if (gives === 'bytes') {
    const headers = range === undefined ? {} : { headers: { range } };
    return send(connection, method, path, { ...asking, ...headers, accept: '*/*', accepted: [416] });
  }
  if (gives === 'nothing') {
    await send(connection, method, path, asking);
    return undefined;
  }
  const answer = fromWire(await ask(connection, method, path, asking), answerFree);
  return field === undefined ? answer : Object(answer)[field];
}

async function* eventsOf(connection: ApiConnection, entry: OperationEntry, given: readonly unknown[]) {
  const { again, eventFree } = entry;
  const { method, path, sending, patienceMs } = requestOf(entry, given);
  const { query, signal } = sending;
  const events =
    again === undefined || query?.follow === false
      ? streamEvents<{ readonly type: string }>(connection, method, path, sending)
      : followEvents<{ readonly type: string }>(connection, path, {
          ...(query && { query }),
          isLast: (type) => again.includes(type),
          ...(patienceMs !== undefined && { patienceMs }),
          signal,
        });
  for await (const event of events) yield fromWire(event, eventFree);
}

function talkOf(connection: ApiConnection, entry: OperationEntry, given: readonly unknown[]) {
  const { path, sending } = requestOf(entry, given);
  const { query, json, signal } = sending;
  return openTalk(connection, path + queryText(query), { first: json, free: entry.eventFree, signal });
}

interface AnyOptions extends Cancel {
  readonly range?: string;
  readonly patienceMs?: number;
}

function requestOf({ route, query, sends, bodyFree }: OperationEntry, given: readonly unknown[]) {
  const [method = 'GET', template = ''] = route.split(' ');
  const { path, count } = pathOf(template, given);
  const options: AnyOptions = Object(given[count + (sends === undefined ? 0 : 1)]);
  const { signal, range, patienceMs } = options;
  const sending: Sending = {
    query: queryOf(options, query),
    ...(sends !== undefined && sent(sends, given[count], bodyFree)),
    signal,
  };
  return { method, path, sending, range, patienceMs };
}

function sent(sends: NonNullable<OperationEntry['sends']>, body: unknown, free: Free | undefined): Sending {
  if (sends === 'json') return { json: toWire(body, free) };
  if (body instanceof FormData) return { form: body };
  return { body: typeof body === 'string' ? body : Object(body), headers: { 'content-type': sends } };
}

function queryOf(options: object, names: readonly string[] = []): QueryValues {
  const given = new Map(Object.entries(options));
  return Object.fromEntries(names.map((name) => [name, given.get(camelName(name))]));
}

/** Fills each name of the template with the given values, in order. */
function pathOf(
  template: string,
  given: readonly unknown[],
): { readonly path: string; readonly count: number } {
  let count = 0;
  const path = template.replace(/\{\+?(\w+)\}/g, (_, name: string) => {
    const value = String(given[count]);
    count += 1;
    return name === 'chat' ? chatSegment(value) : encodeURIComponent(value);
  });
  return { path, count };
}
