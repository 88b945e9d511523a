/** Errors in the shape of OpenAI's API. */
import type { Context } from 'hono';
import type { ApiEnv } from '../../api/environment.ts';
import { errorOf, problemFor } from '../../api/problems.ts';
import { errorCatalogue } from '../../base/error-catalogue.ts';
import { type ErrorCode, GeodeError } from '../../base/errors.ts';
import type { LastEvent } from './answer-pieces.ts';

interface OpenAiError {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string;
}

export function answerError(thrown: unknown, context: Context<ApiEnv>): Response {
  const error = errorOf(thrown, context);
  const { status } = errorCatalogue[error.code];
  const { retry_after_s: wait } = error.details;
  if (typeof wait === 'number') context.header('Retry-After', String(wait));
  // A second try of a busy chat would begin a turn that the first request may have begun too.
  if (error.code === 'agent_busy') context.header('x-should-retry', 'false');
  const { error: message, hint } = problemFor(context, error);
  return context.json({ error: shaped(error, message, hint) }, status === 499 ? 408 : status);
}

/** For a stream, whose status was sent already. */
export function errorIn(thrown: unknown, context: Context<ApiEnv>): OpenAiError {
  const error = errorOf(thrown, context);
  context.var.log[error.status >= 500 ? 'error' : 'info']({ err: error }, 'stream ended');
  const { error: message, hint } = problemFor(context, error);
  return shaped(error, message, hint);
}

export type TurnResult = Extract<LastEvent, { type: 'result' }>;

/** Throws the error that ended the turn. */
export function resultOf(end: LastEvent | undefined): TurnResult {
  if (end?.type === 'result') return end;
  throw end === undefined
    ? new GeodeError('cancelled', 'The turn goes on without its client.')
    : failureOf(end);
}

/** The error that ended a turn. */
function failureOf({ code, message, hint }: Extract<LastEvent, { type: 'error' }>): GeodeError {
  return new GeodeError(isErrorCode(code) ? code : 'agent_failed', message, { hint });
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorCatalogue, code);
}

function shaped({ code, status, details }: GeodeError, message: string, hint: string): OpenAiError {
  return {
    message: `${message} ${hint}`.trim(),
    type: typeOf(status),
    param: typeof details.param === 'string' ? details.param : null,
    code: code === 'unauthorized' ? 'invalid_api_key' : code,
  };
}

function typeOf(status: number): string {
  if (status === 403) return 'permission_error';
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}
