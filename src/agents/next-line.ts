import type { LineEvent } from './journal-lines.ts';

/** What a program says next, or that nobody wants to hear it any more. */
export async function nextUnlessStopped(
  lines: AsyncGenerator<LineEvent>,
  signal: AbortSignal,
): Promise<IteratorResult<LineEvent> | 'stopped'> {
  if (signal.aborted) return 'stopped';
  const { promise, resolve } = Promise.withResolvers<'stopped'>();
  const stop = () => resolve('stopped');
  signal.addEventListener('abort', stop, { once: true });
  try {
    const next = lines.next();
    next.catch(() => {}); // Where nobody waits for it any more.
    return await Promise.race([next, promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
