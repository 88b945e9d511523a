/** Errors as Open Terminal's clients read them: `{detail}`, and `{error}` for terminals. */
import type { Context } from 'hono';
import type { ApiEnv } from '../../api/environment.ts';
import { errorOf, problemFor } from '../../api/problems.ts';
import { errorCatalogue } from '../../base/error-catalogue.ts';
import type { ErrorCode } from '../../base/errors.ts';

/** Where this wire has another status. */
const statuses: Partial<Record<ErrorCode, 400 | 404>> = { not_a_file: 404, file_exists: 400 };

export function answerError(thrown: unknown, context: Context<ApiEnv>): Response {
  const error = errorOf(thrown, context);
  const { status } = errorCatalogue[error.code];
  const { retry_after_s: wait, problems } = error.details;
  if (typeof wait === 'number') context.header('Retry-After', String(wait));
  if (Array.isArray(problems)) return context.json({ detail: problems }, 422);
  const { error: message, hint } = problemFor(context, error);
  const text = `${message} ${hint}`.trim();
  const given = statuses[error.code] ?? (status === 499 ? 408 : status);
  const isTerminal = context.req.path.includes('/api/terminals') && !context.req.path.includes('/user/');
  return context.json(isTerminal ? { error: text } : { detail: text }, given);
}
