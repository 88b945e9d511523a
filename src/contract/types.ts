/** The types that follow from a declaration. */
import type { Given, Own } from './names.ts';
import type { Schema } from './operation.ts';

type Output<S> = S extends Schema ? S['_zod']['output'] : unknown;
type Input<S> = S extends Schema ? S['_zod']['input'] : unknown;

type Params<O> = O extends { readonly params: infer S } ? Own<Output<S>> : unknown;
type QueryOf<O> = O extends { readonly query: infer S } ? Own<Output<S>> : unknown;
type Body<O> = O extends { readonly body: { readonly schema: infer S } } ? Own<Output<S>> : unknown;
// What a form has is not renamed: a file would lose what it can do.
type Form<O> = O extends { readonly form: { readonly schema: infer S } } ? Output<S> : unknown;

/** What a handler gets: path, query and body in one. */
export type InputOf<O> = Params<O> & QueryOf<O> & Body<O> & Form<O>;

type Only<T, O> = O extends { readonly answer: { readonly field: infer F } }
  ? F extends keyof T
    ? T[F]
    : never
  : T;

/** What a handler answers. */
export type AnswerOf<O> = O extends { readonly answer: { readonly schema: infer S } }
  ? Only<Given<Output<S>>, O>
  : never;

type Failed = { readonly type: 'problem' };

/** What a handler tells, one after the other; a failure is thrown. */
export type EventOf<O> = O extends { readonly stream: { readonly schema: infer S } }
  ? Exclude<Given<Output<S>>, Failed>
  : never;

export type ToldOf<O> = O extends { readonly stream: { readonly resumes: true } }
  ? { readonly event: EventOf<O>; readonly next?: number | undefined }
  : EventOf<O>;

type Socket<O, K extends string> = O extends { readonly socket: Readonly<Record<K, infer S>> } ? S : never;

export type FirstOf<O> = Own<Output<Socket<O, 'first'>>>;
export type HeardOf<O> = Own<Output<Socket<O, 'hears'>>>;
export type SaidOf<O> = Given<Output<Socket<O, 'says'>>>;

/** What a caller of the client gets. */
export type ResultOf<O> = O extends { readonly answer: { readonly schema: infer S } }
  ? Only<Own<Output<S>>, O>
  : never;

export type ReadEventOf<O> = O extends { readonly stream: { readonly schema: infer S } }
  ? Exclude<Own<Output<S>>, Failed>
  : never;

/** What a caller of the client gives for the body. */
export type GivenBodyOf<O> = O extends { readonly body: { readonly schema: infer S } }
  ? Given<Input<S>>
  : never;

type Free<S> = { readonly [K in keyof Input<S> as undefined extends Input<S>[K] ? K : never]: unknown };

// What is read from text has no input type: how it is given follows from what it becomes.
type Query<S> = Given<
  { [K in Exclude<keyof Output<S>, keyof Free<S>>]: Output<S>[K] } & {
    [K in keyof Output<S> & keyof Free<S>]?: Output<S>[K] | undefined;
  }
>;

export type GivenQueryOf<O> = O extends { readonly query: infer S } ? Query<S> : unknown;
