/** Lets other work run when the current work has held the thread for a while. */
import { setImmediate } from 'node:timers/promises';

const SLICE_MS = 8;

export function threadYielder(): () => Promise<void> {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < SLICE_MS) return;
    await setImmediate();
    since = performance.now();
  };
}
