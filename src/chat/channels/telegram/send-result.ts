import type { SendResult } from '../../../core/channel.ts';
import { GeodeError, reasonOf } from '../../../core/errors.ts';

/** Failures before a connection was there: nothing can have arrived. */
const neverConnected = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'];

/** What an error of the adapter says of a message. Its classes are known by their codes. */
export function sendFailure(thrown: unknown): Exclude<SendResult, { readonly outcome: 'sent' }> {
  const error = new GeodeError('channel_failed', `Telegram did not take the message: ${reasonOf(thrown)}`, {
    cause: thrown,
  });
  const code = codeOf(thrown);
  if (code === 'RATE_LIMITED') {
    const seconds = numberIn(thrown, 'retryAfter');
    return {
      outcome: 'not-sent',
      retryAfterMs: seconds === undefined ? null : seconds * 1000,
      error,
    };
  }
  // A token that is wrong today may be set right tomorrow.
  if (code === 'AUTH_FAILED') return { outcome: 'not-sent', retryAfterMs: null, error };
  if (code === 'VALIDATION_ERROR' || code === 'PERMISSION_DENIED' || code === 'NOT_FOUND')
    return { outcome: 'refused', error };
  if (neverConnected.includes(systemCode(thrown))) return { outcome: 'not-sent', retryAfterMs: null, error };
  return { outcome: 'unknown', error };
}

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
}

function numberIn(thrown: unknown, name: string): number | undefined {
  if (!(thrown instanceof Error)) return undefined;
  const value: unknown = Reflect.get(thrown, name);
  return typeof value === 'number' ? value : undefined;
}

/** The code of the system call, however deep it is wrapped. */
function systemCode(thrown: unknown): string {
  for (let error = thrown, depth = 0; error instanceof Error && depth < 5; depth += 1) {
    if (/^E[A-Z_]+$/.test(codeOf(error))) return codeOf(error);
    error = Reflect.get(error, 'originalError') ?? error.cause;
  }
  return '';
}
