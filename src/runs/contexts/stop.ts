import { onAbort } from '../../base/cancel.ts';

/** Why a run is stopped from outside. */
export type Stop = 'timed-out' | 'cancelled';

/** Undefined if the work ended by itself; otherwise the first reason. */
export async function stopOf(
  over: Promise<unknown>,
  timeoutMs: number | null,
  signal: AbortSignal | undefined,
): Promise<Stop | undefined> {
  const { promise, resolve } = Promise.withResolvers<Stop>();
  const timer = timeoutMs === null ? undefined : setTimeout(resolve, timeoutMs, 'timed-out');
  using _watching = onAbort(signal, () => resolve('cancelled'));
  try {
    return await Promise.race([over.then(() => undefined), promise]);
  } finally {
    clearTimeout(timer);
  }
}

export async function settlesWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  return (await stopOf(work, ms, undefined)) === undefined;
}
