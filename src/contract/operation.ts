/**
 * An operation of the API is declared once. Its HTTP route, its part of the OpenAPI document, the client's method and
 * the renaming of fields follow from the declaration. A handler of the same name in `src/api/handlers` implements it.
 */
import type { Scope } from './keys.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Contains only the types of a schema, because comparing whole schemas would slow the compiler down. */
export interface Schema {
  readonly _zod: { readonly input: unknown; readonly output: unknown };
}

interface Described {
  /** For the OpenAPI document. */
  readonly description: string;
  readonly schema: Schema;
}

export interface Operation {
  /** `{name}` is one segment of the path; `{+name}` may contain slashes. */
  readonly route: `${Method} /${string}`;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** The scope that a key needs. `any`: every valid key. `nobody`: no authentication. */
  readonly scope: Scope | readonly Scope[] | 'any' | 'nobody';
  readonly params?: Schema;
  readonly query?: Schema;
  /** A JSON body. `limit` is its maximum size: one entry or a change, a command with its stdin, or many entries. */
  readonly body?: Described & { readonly limit?: BodyLimit };
  readonly form?: Described;
  /** A body of bytes that the handler reads as they arrive. */
  readonly takes?: { readonly description: string; readonly type?: 'application/x-tar' | '*/*' };
  readonly answer?: Described & {
    readonly status?: AnswerStatus;
    /** The only field of the answer: handlers return its value, and callers get the value. */
    readonly field?: string;
    /** Other statuses with the same answer. */
    readonly or?: Readonly<Partial<Record<AnswerStatus, string>>>;
  };
  /** Plain text. */
  readonly text?: string;
  /** Description of the success without a body (204). */
  readonly done?: string;
  /** A stream of events. If there is also an `answer`, the caller chooses with its `Accept` header. */
  readonly stream?: Described & {
    /** Events have numbers, and an interrupted caller continues after the last one it received. */
    readonly resumes?: true;
    /** A client reopens a lost stream until one of these events arrives. */
    readonly again?: readonly string[];
  };
  /** An answer of bytes. `ranges`: callers may request a part. */
  readonly gives?: {
    readonly description: string;
    readonly type?: 'application/x-tar';
    readonly ranges?: true;
  };
  /** A WebSocket: the first message of the client, its later messages, and the messages of the server. */
  readonly socket?: { readonly first?: Schema; readonly fromClient?: Schema; readonly fromServer: Schema };
  /** It starts or reads a sandbox, so it can return the errors of the sandbox, its runtime and its files. */
  readonly reaches?: 'sandbox';
  /** Further errors, by status. */
  readonly refuses?: Readonly<Record<number, string>>;
}

export type AnswerStatus = 200 | 201 | 202 | 503;

export type BodyLimit = 'entry' | 'command' | 'many';

export type Family = Readonly<Record<string, Operation>>;

/** Keeps the exact types of the declaration. */
export function family<const F extends Family>(operations: F): F {
  return operations;
}

export const notFound = {
  404: 'The caller has nothing with this name or id.',
};

/** Errors that every operation with a key can return. */
export const usualRefusals = {
  400: 'The request is not valid.',
  401: 'The API key is missing, unknown or revoked.',
  403: 'The key lacks the scope, or the Host or Origin is not trusted.',
  429: 'Too many requests; `Retry-After` gives the time to wait.',
  500: 'A defect of Geode.',
  503: 'A part is down, or the server is stopping.',
};
