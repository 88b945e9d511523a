import { finishing } from '../core/cancel.ts';
import type { Freezer } from '../core/sandbox.ts';
import type { Link } from '../link/link.ts';

const turnDeadlineMs = 15_000;

/** How walls stop the time of what is behind them. Both are idempotent. */
export interface Frost {
  pause(signal: AbortSignal): Promise<void>;
  resume(signal: AbortSignal): Promise<void>;
}

/** One turn at a time; the link learns of each before the guest could seem dead. */
export function freezerOf(link: Link, frost: Frost, readyDeadlineMs: number): Freezer {
  let last: Promise<void> = Promise.resolve();
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    last = last.catch(() => {}).then(work);
    return last;
  };
  const turn = (what: string, work: (signal: AbortSignal) => Promise<void>, signal?: AbortSignal) => () =>
    finishing({ ms: turnDeadlineMs, what, signal }, work);
  return {
    get paused() {
      return link.paused;
    },
    pause: ({ signal } = {}) =>
      inTurn(() => link.pause(turn('Pausing the sandbox', (stop) => frost.pause(stop), signal))),
    resume: ({ signal } = {}) =>
      inTurn(() =>
        link.resume(
          turn('Resuming the sandbox', (stop) => frost.resume(stop), signal),
          { deadlineMs: readyDeadlineMs, signal },
        ),
      ),
    async hold({ signal } = {}) {
      const before = last.catch(() => {});
      const { promise: over, resolve: end } = Promise.withResolvers<void>();
      last = before.then(() => over);
      await before;
      const holding = turn('Holding the sandbox still', (stop) => frost.pause(stop), signal);
      const freeing = turn('Freeing the sandbox', (stop) => frost.resume(stop));
      try {
        const free = link.paused ? async () => {} : await link.hold(holding, freeing);
        let freed: Promise<void> | undefined;
        return {
          [Symbol.asyncDispose]() {
            freed ??= free().finally(end);
            return freed;
          },
        };
      } catch (error) {
        end();
        throw error;
      }
    },
  };
}
