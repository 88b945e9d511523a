import { finishing } from '../base/cancel.ts';
import { Turns } from '../base/turns.ts';
import type { Link } from '../link/link.ts';
import type { Freezer } from '../seams/sandbox.ts';
import type { PauseMark } from './pause-mark.ts';

const changeDeadlineMs = 15_000;

/** How a kind of walls freezes its processes. Both calls are idempotent; a sandbox that has ended needs no resume. */
export interface WallsFreezer {
  pause(signal: AbortSignal): Promise<void>;
  resume(signal: AbortSignal): Promise<void>;
}

/** One change at a time. The link is notified before the guest could seem dead. */
export function freezerOf(
  link: Link,
  wallsFreezer: WallsFreezer,
  mark: PauseMark,
  readyDeadlineMs: number,
): Freezer {
  const turns = new Turns();
  const change = (what: string, work: (signal: AbortSignal) => Promise<void>, signal?: AbortSignal) => () =>
    finishing({ ms: changeDeadlineMs, what, signal }, work);
  const pausing = (signal?: AbortSignal) =>
    change('Pausing the sandbox', (stop) => mark.set().then(() => wallsFreezer.pause(stop)), signal);
  const resuming = (signal?: AbortSignal) =>
    change('Resuming the sandbox', (stop) => wallsFreezer.resume(stop).then(() => mark.clear()), signal);
  const holding = (signal?: AbortSignal) =>
    change('Holding the sandbox still', (stop) => mark.clear().then(() => wallsFreezer.pause(stop)), signal);
  const freeing = change('Freeing the sandbox', (stop) => wallsFreezer.resume(stop));
  return {
    get paused() {
      return link.paused;
    },
    pause: ({ signal } = {}) => turns.in(() => link.pause(pausing(signal), resuming())),
    resume: ({ signal } = {}) =>
      turns.in(() => link.resume(resuming(signal), { deadlineMs: readyDeadlineMs, signal })),
    async hold({ signal } = {}) {
      using taken = new DisposableStack();
      taken.use(await turns.take());
      const free = link.paused ? async () => {} : await link.hold(holding(signal), freeing);
      const held = taken.move();
      let freed: Promise<void> | undefined;
      return {
        [Symbol.asyncDispose]() {
          freed ??= free().finally(() => held.dispose());
          return freed;
        },
      };
    },
  };
}
