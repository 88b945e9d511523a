import { GeodeError, reasonOf } from '../../base/errors.ts';
import type { SendResult } from '../../seams/channel.ts';
import { PlatformError } from './platform-error.ts';

export type FailedSend = Exclude<SendResult, { readonly outcome: 'sent' }>;

/** Failures before the connection was established: nothing can have arrived. */
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
/** A timeout inside the platform: the work may have continued. */
const gaveUp = [408, 504];

/** The meaning of a send error. A refusal is an answer of the platform; anything else is a broken connection. */
export function sendFailure(platform: string, thrown: unknown): FailedSend {
  const error = new GeodeError(
    'channel_failed',
    `${platform} did not accept the message: ${reasonOf(thrown)}`,
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
  // Retry both: the operator may fix a wrong token, and a failing server may recover.
  if (status === 429 || status === 401 || status >= 500)
    return { outcome: 'not-sent', retryAfterMs: retryAfterMs ?? null, error };
  return { outcome: 'refused', error };
}

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
}

/** The code of the system call, however deeply it is wrapped. */
function systemCode(thrown: unknown): string {
  for (let error = thrown, depth = 0; error instanceof Error && depth < 5; depth += 1) {
    if (/^[A-Z]+(_[A-Z0-9]+)*$/.test(codeOf(error))) return codeOf(error);
    error = error.cause;
  }
  return '';
}
