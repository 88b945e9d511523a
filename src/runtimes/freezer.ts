import { finishing } from '../core/cancel.ts';
import type { Freezer } from '../core/sandbox.ts';
import type { Link } from '../link/link.ts';
import type { PauseMark } from './pause-mark.ts';

const turnDeadlineMs = 15_000;

/** How walls stop the time of what is behind them. Both are idempotent; one that has ended needs no resuming. */
export interface Frost {
  pause(signal: AbortSignal): Promise<void>;
  resume(signal: AbortSignal): Promise<void>;
}

/** One turn at a time; the link learns of each before the guest could seem dead. */
export function freezerOf(link: Link, frost: Frost, mark: PauseMark, readyDeadlineMs: number): Freezer {
  let last: Promise<void> = Promise.resolve();
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    last = last.catch(() => {}).then(work);
    return last;
  };
  const turn = (what: string, work: (signal: AbortSignal) => Promise<void>, signal?: AbortSignal) => () =>
    finishing({ ms: turnDeadlineMs, what, signal }, work);
  const pausing = (signal?: AbortSignal) =>
    turn('Pausing the sandbox', (stop) => mark.set().then(() => frost.pause(stop)), signal);
  const resuming = (signal?: AbortSignal) =>
    turn('Resuming the sandbox', (stop) => frost.resume(stop).then(() => mark.clear()), signal);
  const holding = (signal?: AbortSignal) =>
    turn('Holding the sandbox still', (stop) => mark.clear().then(() => frost.pause(stop)), signal);
  const freeing = turn('Freeing the sandbox', (stop) => frost.resume(stop));
  return {
    get paused() {
      return link.paused;
    },
    pause: ({ signal } = {}) => inTurn(() => link.pause(pausing(signal), resuming())),
    resume: ({ signal } = {}) =>
      inTurn(() => link.resume(resuming(signal), { deadlineMs: readyDeadlineMs, signal })),
    async hold({ signal } = {}) {
      const before = last.catch(() => {});
      const { promise: over, resolve: end } = Promise.withResolvers<void>();
      last = before.then(() => over);
      await before;
      try {
        const free = link.paused ? async () => {} : await link.hold(holding(signal), freeing);
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
