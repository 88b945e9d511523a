/** Why a run is stopped from outside. */
export type Stop = 'timed-out' | 'cancelled';

/** Undefined when the work is over by itself; otherwise what came first. */
export async function stopOf(
  over: Promise<unknown>,
  timeoutMs: number | null,
  signal: AbortSignal | undefined,
): Promise<Stop | undefined> {
  let timer: NodeJS.Timeout | undefined;
  let cancel = () => {};
  const stopped = new Promise<Stop>((resolve) => {
    if (timeoutMs !== null) timer = setTimeout(resolve, timeoutMs, 'timed-out');
    cancel = () => resolve('cancelled');
    signal?.addEventListener('abort', cancel, { once: true });
    if (signal?.aborted) cancel();
  });
  try {
    return await Promise.race([over.then(() => undefined), stopped]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', cancel);
  }
}

export async function settlesWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  return (await stopOf(work, ms, undefined)) === undefined;
}
