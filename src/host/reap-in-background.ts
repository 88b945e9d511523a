import type { Runs } from '../runs/index.ts';

/** Removes leftovers of runs of dead hosts, in the background until this host closes. */
export function reapInBackground(opened: AsyncDisposableStack, runs: Runs): void {
  const stop = new AbortController();
  // Leftovers that cannot be removed now are left for the next host.
  const reaping = runs.reap({ signal: stop.signal }).catch(() => {});
  opened.defer(async () => {
    stop.abort();
    await reaping;
  });
}
