import { isGeodeError } from '../../src/client/client.ts';

const againMs = 1000;

/**
 * Reads something to its end, however often the host goes away: `follow` goes on where it was. Throws the errors that
 * the host answers; returns when the signal fires.
 */
export async function keepFollowing(signal: AbortSignal, follow: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    try {
      await follow();
      return;
    } catch (thrown) {
      if (signal.aborted) return;
      if (!isGeodeError(thrown) || thrown.status < 500) throw thrown;
    }
    await new Promise((resolve) => setTimeout(resolve, againMs));
  }
}
