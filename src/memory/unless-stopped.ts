/** Waits for work that may take minutes, but not after a stop. Its late result is then ignored. */
import { GeodeError } from '../base/errors.ts';

export async function unlessStopped<T>(stopping: AbortSignal, work: () => Promise<T>): Promise<T> {
  const stopped = Promise.withResolvers<never>();
  const stop = () => stopped.reject(new GeodeError('memory_down', 'Memory has been stopped.'));
  if (stopping.aborted) stop();
  stopping.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([stopped.promise, work()]);
  } finally {
    stopping.removeEventListener('abort', stop);
  }
}
