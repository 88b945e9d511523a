import type { LineEvent } from './journal-lines.ts';

/** What comes of the work, or that nobody wants it any more. */
export async function unlessStopped<T>(
  work: () => Promise<T>,
  signal: AbortSignal,
): Promise<{ readonly value: T } | 'stopped'> {
  if (signal.aborted) return 'stopped';
  const { promise, resolve } = Promise.withResolvers<'stopped'>();
  const stop = () => resolve('stopped');
  signal.addEventListener('abort', stop, { once: true });
  try {
    const working = work().then((value) => ({ value }));
    working.catch(() => {}); // Where nobody waits for it any more.
    return await Promise.race([working, promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** What a program says next, or that nobody wants to hear it any more. */
export async function nextUnlessStopped(
  lines: AsyncGenerator<LineEvent>,
  signal: AbortSignal,
): Promise<IteratorResult<LineEvent> | 'stopped'> {
  const next = await unlessStopped(() => lines.next(), signal);
  return next === 'stopped' ? next : next.value;
}
