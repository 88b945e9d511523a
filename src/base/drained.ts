/** A stream that reports when it can be written to again. */
interface Drainable {
  on(event: 'drain' | 'close', listener: () => void): unknown;
  off(event: 'drain' | 'close', listener: () => void): unknown;
}

/** Waits until a full stream has room again, is closed, or the signal fires. */
export function drained(stream: Drainable, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done);
      stream.off('close', done);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    stream.on('drain', done);
    stream.on('close', done);
    signal?.addEventListener('abort', done);
  });
}
