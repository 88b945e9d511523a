/** The types derived from a declaration. */
import type { Given, Own } from './names.ts';
import type { Schema } from './operation.ts';

type Output<S> = S extends Schema ? S['_zod']['output'] : unknown;
type Input<S> = S extends Schema ? S['_zod']['input'] : unknown;

type Params<O> = O extends { readonly params: infer S } ? Own<Output<S>> : unknown;
type QueryOf<O> = O extends { readonly query: infer S } ? Own<Output<S>> : unknown;
type Body<O> = O extends { readonly body: { readonly schema: infer S } } ? Own<Output<S>> : unknown;
// Form fields are not renamed: a File object would lose its methods.
type Form<O> = O extends { readonly form: { readonly schema: infer S } } ? Output<S> : unknown;

/** The input of a handler: path, query and body in one object. */
export type InputOf<O> = Params<O> & QueryOf<O> & Body<O> & Form<O>;

type Only<T, O> = O extends { readonly answer: { readonly field: infer F } }
  ? F extends keyof T
    ? T[F]
    : never
  : T;

/** The answer of a handler. */
export type AnswerOf<O> = O extends { readonly answer: { readonly schema: infer S } }
  ? Only<Given<Output<S>>, O>
  : never;

type Failed = { readonly type: 'problem' };

/** The events that a handler yields; a failure is thrown. */
export type EventOf<O> = O extends { readonly stream: { readonly schema: infer S } }
  ? Exclude<Given<Output<S>>, Failed>
  : never;

export type StreamItemOf<O> = O extends { readonly stream: { readonly resumes: true } }
  ? { readonly event: EventOf<O>; readonly next?: number | undefined }
  : EventOf<O>;

type Socket<O, K extends string> = O extends { readonly socket: Readonly<Record<K, infer S>> } ? S : never;

export type FirstOf<O> = Own<Output<Socket<O, 'first'>>>;
export type ClientMessageOf<O> = Own<Output<Socket<O, 'fromClient'>>>;
export type ServerMessageOf<O> = Given<Output<Socket<O, 'fromServer'>>>;

/** The messages of a socket as its client sends and receives them; a `problem` is thrown. */
export type GivenFirstOf<O> = Given<Input<Socket<O, 'first'>>>;
export type GivenMessageOf<O> = Given<Input<Socket<O, 'fromClient'>>>;
export type ReadMessageOf<O> = Exclude<Own<Output<Socket<O, 'fromServer'>>>, Failed>;

/** The result of a client call. */
export type ResultOf<O> = O extends { readonly answer: { readonly schema: infer S } }
  ? Only<Own<Output<S>>, O>
  : never;

export type ReadEventOf<O> = O extends { readonly stream: { readonly schema: infer S } }
  ? Exclude<Own<Output<S>>, Failed>
  : never;

/** The body that a caller of the client passes. */
export type GivenBodyOf<O> = O extends { readonly body: { readonly schema: infer S } }
  ? Given<Input<S>>
  : never;

type Free<S> = { readonly [K in keyof Input<S> as undefined extends Input<S>[K] ? K : never]: unknown };

// Query fields are parsed from text and have no input type; derive it from the output type.
type Query<S> = Given<
  { [K in Exclude<keyof Output<S>, keyof Free<S>>]: Output<S>[K] } & {
    [K in keyof Output<S> & keyof Free<S>]?: Output<S>[K] | undefined;
  }
>;

export type GivenQueryOf<O> = O extends { readonly query: infer S } ? Query<S> : unknown;
