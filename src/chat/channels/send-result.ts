import type { SendResult } from '../../core/channel.ts';
import { GeodeError, reasonOf } from '../../core/errors.ts';
import { PlatformError } from './platform-error.ts';

export type FailedSend = Exclude<SendResult, { readonly outcome: 'sent' }>;

/** Failures before a connection was there: nothing can have arrived. */
const neverConnected = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'];

/** What an error says of a message: an answer of the platform, an error of its adapter, or none of both. */
export function sendFailure(platform: string, thrown: unknown): FailedSend {
  const error = new GeodeError(
    'channel_failed',
    `${platform} did not take the message: ${reasonOf(thrown)}`,
    {
      cause: thrown,
    },
  );
  if (thrown instanceof PlatformError) return ofStatus(thrown, error);
  if (neverConnected.includes(systemCode(thrown))) return { outcome: 'not-sent', retryAfterMs: null, error };
  return ofAdapter(thrown, error);
}

function ofStatus({ status, retryAfterMs }: PlatformError, error: GeodeError): FailedSend {
  // A token that is wrong today may be set right tomorrow.
  if (status === 429 || status === 401)
    return { outcome: 'not-sent', retryAfterMs: retryAfterMs ?? null, error };
  // A server that failed may have taken the message.
  return { outcome: status >= 400 && status < 500 ? 'refused' : 'unknown', error };
}

/** The classes of an adapter are known by their codes. */
function ofAdapter(thrown: unknown, error: GeodeError): FailedSend {
  const code = codeOf(thrown);
  if (code === 'RATE_LIMITED') {
    const seconds = numberIn(thrown, 'retryAfter');
    return { outcome: 'not-sent', retryAfterMs: seconds === undefined ? null : seconds * 1000, error };
  }
  if (code === 'AUTH_FAILED') return { outcome: 'not-sent', retryAfterMs: null, error };
  if (code === 'VALIDATION_ERROR' || code === 'PERMISSION_DENIED' || code === 'NOT_FOUND')
    return { outcome: 'refused', error };
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
