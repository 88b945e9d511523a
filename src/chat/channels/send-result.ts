import { GeodeError, reasonOf } from '../../base/errors.ts';
import type { SendResult } from '../../seams/channel.ts';
import { PlatformError } from './platform-error.ts';

export type FailedSend = Exclude<SendResult, { readonly outcome: 'sent' }>;

/** Failures before a connection was there: nothing can have arrived. */
const neverConnected = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
];
/** The platform gave up on a part of itself that may have gone on. */
const gaveUp = [408, 504];

/** The meaning of a send error: a refusal is an answer of the platform, anything else a broken connection. */
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
  return { outcome: 'unknown', error };
}

function ofStatus({ status, retryAfterMs }: PlatformError, error: GeodeError): FailedSend {
  if (gaveUp.includes(status)) return { outcome: 'unknown', error };
  // A token that is wrong today may be set right tomorrow, and a server that refuses today may serve then.
  if (status === 429 || status === 401 || status >= 500)
    return { outcome: 'not-sent', retryAfterMs: retryAfterMs ?? null, error };
  return { outcome: 'refused', error };
}

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
}

/** The code of the system call, however deep it is wrapped. */
function systemCode(thrown: unknown): string {
  for (let error = thrown, depth = 0; error instanceof Error && depth < 5; depth += 1) {
    if (/^[A-Z]+(_[A-Z0-9]+)*$/.test(codeOf(error))) return codeOf(error);
    error = error.cause;
  }
  return '';
}
