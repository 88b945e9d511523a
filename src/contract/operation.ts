/**
 * An operation of the API is declared once. Its HTTP route, what the OpenAPI document says of it, the call of the client
 * and the translation of names follow from the declaration; what it does is a handler of the same name in
 * `src/api/handlers`.
 */
import type { Scope } from './keys.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Holds only the types of a schema: comparing whole schemas would slow the compiler down. */
export interface Schema {
  readonly _zod: { readonly input: unknown; readonly output: unknown };
}

interface Described {
  /** For the OpenAPI document. */
  readonly description: string;
  readonly schema: Schema;
}

export interface Operation {
  /** `{name}` is one segment of the path; `{+name}` may have slashes. */
  readonly route: `${Method} /${string}`;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** The scope that a key needs. `any`: every valid key. `nobody`: no authentication. */
  readonly scope: Scope | readonly Scope[] | 'any' | 'nobody';
  readonly params?: Schema;
  readonly query?: Schema;
  /** JSON. `limit` is how large it may be: one entry or a change, a command with its stdin, or many entries. */
  readonly body?: Described & { readonly limit?: BodyLimit };
  readonly form?: Described;
  /** Bytes that the handler reads as they come. */
  readonly takes?: { readonly description: string; readonly type?: 'application/x-tar' | '*/*' };
  readonly answer?: Described & {
    readonly status?: AnswerStatus;
    /** The only field of the answer: handlers give its value, and callers get it. */
    readonly field?: string;
    /** Other statuses with the same answer. */
    readonly or?: Readonly<Partial<Record<AnswerStatus, string>>>;
  };
  /** Plain text. */
  readonly text?: string;
  /** Description of the success without a body (204). */
  readonly done?: string;
  /** Events. With an `answer` beside it the caller chooses by its `Accept` header. */
  readonly stream?: Described & {
    /** Events have numbers, and a caller that was cut off goes on behind the last one it has. */
    readonly resumes?: true;
    /** A client opens a lost stream again; it is over behind one of these events, or never. */
    readonly again?: readonly string[];
  };
  /** Bytes. `ranges`: a part of them can be asked for. */
  readonly gives?: {
    readonly description: string;
    readonly type?: 'application/x-tar';
    readonly ranges?: true;
  };
  /** A WebSocket: the first message of the client, its later messages, and the messages of the server. */
  readonly socket?: { readonly first?: Schema; readonly fromClient?: Schema; readonly fromServer: Schema };
  /** It starts a sandbox or looks into one, so that the sandbox, its runtime and its files may refuse. */
  readonly reaches?: 'sandbox';
  /** Further refusals, by status. */
  readonly refuses?: Readonly<Record<number, string>>;
}

export type AnswerStatus = 200 | 201 | 202 | 503;

export type BodyLimit = 'entry' | 'command' | 'many';

export type Family = Readonly<Record<string, Operation>>;

/** Keeps the exact types of what is declared. */
export function family<const F extends Family>(operations: F): F {
  return operations;
}

export const notFound = {
  404: 'The caller has nothing with this name or id.',
};

/** Refusals that every operation with a key can answer. */
export const usualRefusals = {
  400: 'The request is not valid.',
  401: 'The API key is missing, unknown or revoked.',
  403: 'The key lacks the scope, or the Host or Origin is not trusted.',
  429: 'Too many requests; `Retry-After` gives the time to wait.',
  500: 'A defect of Geode.',
  503: 'A part is down, or the server is stopping.',
};
