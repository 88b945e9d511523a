/** Turns any thrown value into the one error format. Details of internal failures stay in the log. */
import type { Hook } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { errorCatalogue } from '../base/error-catalogue.ts';
import { type ErrorCode, GeodeError, isGeodeError, reasonOf } from '../base/errors.ts';
import type { Problem } from '../contract/problem.ts';
import type { ApiEnv, Caller } from './environment.ts';

export function answerProblem(thrown: unknown, context: Context<ApiEnv>): Response {
  const error = errorOf(thrown, context);
  if (error.code === 'unauthorized') context.header('WWW-Authenticate', 'Bearer');
  const { retry_after_s: wait } = error.details;
  if (typeof wait === 'number') context.header('Retry-After', String(wait));
  const { status } = errorCatalogue[error.code];
  // A caller that left reads no status; 499 is not a standard one.
  return context.json(problemFor(context, error), status === 499 ? 408 : status);
}

export function errorOf(thrown: unknown, context: Context<ApiEnv>): GeodeError {
  const { req } = context;
  if (req.raw.signal.aborted) return new GeodeError('cancelled', 'The caller left', { cause: thrown });
  if (context.var.stopping.aborted && isGeodeError(thrown, 'cancelled'))
    return new GeodeError('stopping', 'The server is stopping', { cause: thrown });
  if (thrown instanceof GeodeError) return thrown;
  if (thrown instanceof HTTPException) {
    const code = thrown.status === 415 ? 'unsupported_type' : 'invalid_input';
    return new GeodeError(code, thrown.message, { cause: thrown });
  }
  return new GeodeError('internal', reasonOf(thrown), { cause: thrown });
}

/** The operator gets the full message, because it is their machine. */
export function problemFor({ var: { caller } }: Context<ApiEnv>, error: GeodeError): Problem {
  // A request that was refused before it had a caller has none.
  return (caller as Caller | undefined)?.actsFor === 'anyone' ? wholeProblem(error) : problemOf(error);
}

export function problemOf(error: GeodeError): Problem {
  // From 500 on a message describes internals: addresses, files, errors of other servers.
  if (error.status >= 500) {
    const { code } = error;
    const message = publicMessages[code] ?? 'The server failed to do this';
    return { error: message, code, hint: errorCatalogue[code].hint };
  }
  return wholeProblem(error);
}

function wholeProblem(error: GeodeError): Problem {
  const { details, ...problem } = error.toJSON();
  return details ? { ...problem, details: { ...details } } : problem;
}

const publicMessages: Partial<Record<ErrorCode, string>> = {
  memory_down: 'Memory does not answer',
  embedder_failed: 'The embedding provider failed',
  model_unavailable: 'The embedding model is not available yet',
  disk_full: 'The disk is full',
  stopping: 'The server is stopping',
  timed_out: 'The request timed out',
};

/** Throws the catalogue's error for the first field that the schema refused. */
export const refuseInvalid: Hook<unknown, ApiEnv, string, void> = (result) => {
  if (result.success) return;
  const [issue] = result.error.issues;
  const field = issue?.path.findLast((part) => typeof part === 'string') ?? '';
  const where = issue && issue.path.length > 0 ? issue.path.join('.') : result.target;
  throw new GeodeError(
    codeOf(result.target, field, issue?.code),
    `${where}: ${issue?.message ?? 'is not valid'}`,
  );
};

function codeOf(target: string, field: string, problem: string | undefined): ErrorCode {
  if (problem === 'too_big' && ['q', 'content', 'entries'].includes(field)) return 'too_large';
  if (field === 'q') return 'empty_query';
  if (field === 'limit' || field === 'offset') return 'invalid_limit';
  if (field === 'category' && target === 'query') return 'unknown_category';
  if (field === 'content' && problem === 'too_small') return 'empty_content';
  return 'invalid_input';
}
