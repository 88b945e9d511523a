import { GeodeError } from '../core/errors.ts';

/** Throws when the caller has given up. */
export function checkCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new GeodeError('cancelled', 'The caller gave up; nothing was changed.');
}
