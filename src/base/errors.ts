/**
 * The one error class.
 *
 * Every failure that a caller can act on is a `GeodeError` with a code of the catalogue. A command that exits non-zero
 * is a result, never an error.
 */
import { errorCatalogue } from './error-catalogue.ts';

export type ErrorCode = keyof typeof errorCatalogue;

export interface GeodeErrorOptions {
  /** Replaces the catalogue's hint if the caller knows a better next step. */
  readonly hint?: string;
  /** Facts for programs: never secrets, never host paths except those that the caller gave. */
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

const mark = Symbol.for('geode.error');

export class GeodeError extends Error {
  /** Matches by mark, because one process can hold two copies of this class: in the bundled commands and in modules that they load. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && mark in value;
  }

  override readonly name = 'GeodeError';
  readonly code: ErrorCode;
  readonly status: number;
  readonly hint: string;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: GeodeErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = errorCatalogue[code].status;
    this.hint = options.hint ?? errorCatalogue[code].hint;
    this.details = options.details ?? {};
  }

  get [mark](): true {
    return true;
  }

  /** The JSON form, sent over HTTP and printed by the CLI with `--json`. */
  toJSON(): { error: string; code: ErrorCode; hint: string; details?: Readonly<Record<string, unknown>> } {
    const body = { error: this.message, code: this.code, hint: this.hint };
    return Object.keys(this.details).length > 0 ? { ...body, details: this.details } : body;
  }
}

export function isGeodeError(value: unknown, code?: ErrorCode): value is GeodeError {
  return value instanceof GeodeError && (code === undefined || value.code === code);
}

/** The message of any thrown value, without a stack. */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
