import { setTimeout as delay } from 'node:timers/promises';
import { type Cancel, throwIfCancelled } from '../core/cancel.ts';
import type { Runtime } from '../core/runtime.ts';
import { isOrphan } from './host-mark.ts';

/** An engine finishes what a host asked of it, also when the host has died since. */
const latestArrivalMs = 10_000;
const pauseMs = 250;

/**
 * Removes what runs of dead hosts left: containers, volumes, folders, control groups, processes. Returns
 * the ids of the sandboxes. What a live host holds, and what is no run's, is not touched.
 */
export async function reapRuns(
  runtimes: readonly Runtime[],
  cancel: Cancel = {},
): Promise<readonly string[]> {
  const reaped = await Promise.all(runtimes.map((runtime) => reap(runtime, cancel)));
  return [...new Set(reaped.flat())];
}

async function reap(runtime: Runtime, { signal }: Cancel): Promise<readonly string[]> {
  const reaped: string[] = [];
  let until = 0;
  do {
    throwIfCancelled(signal, 'Removing what earlier runs left');
    // A runtime that does not answer is not in use here, or its orphans can wait until it does.
    const orphans = (await runtime.traces({ signal }).catch(() => [])).filter(isOrphan);
    const records = orphans.length === 0 ? [] : await runtime.list({ signal });
    for (const { id, createdAt } of records) {
      if (orphans.includes(id)) until = Math.max(until, createdAt + latestArrivalMs);
    }
    await Promise.all(orphans.map((id) => runtime.remove(id, { signal })));
    reaped.push(...orphans);
    if (Date.now() < until) await delay(pauseMs, undefined, { signal });
  } while (Date.now() < until);
  return reaped;
}
