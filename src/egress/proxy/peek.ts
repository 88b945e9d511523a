import type { Duplex } from 'node:stream';

/**
 * Reads the first bytes of a stream until `isEnough`, and puts them back for the next reader. Returns fewer bytes
 * when the stream ends, the time is up or the signal fires.
 */
export function peek(
  stream: Duplex,
  isEnough: (bytes: Buffer) => boolean,
  deadlineMs: number,
  signal?: AbortSignal,
): Promise<Buffer> {
  return new Promise((resolve) => {
    let seen: Buffer = Buffer.alloc(0);
    const finish = () => {
      clearTimeout(timer);
      stream.pause();
      stream.off('data', onData).off('end', finish).off('close', finish);
      signal?.removeEventListener('abort', finish);
      if (seen.length > 0 && !stream.readableEnded && !stream.destroyed) stream.unshift(seen);
      resolve(seen);
    };
    const onData = (chunk: Buffer) => {
      seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
      if (isEnough(seen)) finish();
    };
    const timer = setTimeout(finish, deadlineMs);
    if (signal?.aborted) return finish();
    signal?.addEventListener('abort', finish, { once: true });
    stream.on('data', onData).on('end', finish).on('close', finish);
    stream.resume();
  });
}
