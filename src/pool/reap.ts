import { setTimeout as delay } from 'node:timers/promises';
import type { Cancel } from '../base/cancel.ts';
import type { Runtime } from '../seams/runtime.ts';

/** An engine completes a host's request even after the host has died. */
const latestArrivalMs = 10_000;
const pauseMs = 250;
/**
 * A few at a time: each search covers all processes of the machine and has a deadline, which all at once would miss.
 */
const atOnce = 4;

/**
 * Removes leftovers of dead hosts: containers, volumes, folders, control groups, processes. Returns their ids.
 * Touches nothing that belongs to a user or that `isOrphan` does not recognise. A cancel ends the wait for what an
 * engine may still create; existing leftovers are removed.
 */
export async function reap(
  runtimes: readonly Runtime[],
  isOrphan: (id: string) => boolean,
  cancel: Cancel = {},
): Promise<readonly string[]> {
  const reaped = await Promise.all(runtimes.map((runtime) => reapOf(runtime, isOrphan, cancel)));
  return [...new Set(reaped.flat())];
}

async function reapOf(
  runtime: Runtime,
  isOrphan: (id: string) => boolean,
  { signal }: Cancel,
): Promise<readonly string[]> {
  const reaped: string[] = [];
  let until = 0;
  do {
    // A runtime that does not answer is unused here, or its orphans wait until it answers.
    const found = (await runtime.traces().catch(() => [])).filter(isOrphan);
    const records = found.length === 0 ? [] : await runtime.list({ ids: found });
    const owned = new Set(records.filter(({ owner }) => owner !== null).map(({ id }) => id));
    const orphans = found.filter((id) => !owned.has(id));
    until = Math.max(until, ...records.map(({ createdAt }) => createdAt + latestArrivalMs));
    await removeAll(runtime, orphans);
    reaped.push(...orphans);
    if (Date.now() < until) await delay(pauseMs, undefined, { signal }).catch(() => {});
  } while (Date.now() < until && !signal?.aborted);
  return reaped;
}

/** A sandbox that cannot be removed does not stop the removal of the others. */
async function removeAll(runtime: Runtime, ids: readonly string[]): Promise<void> {
  const waiting = [...ids];
  const failures: unknown[] = [];
  const next = async (): Promise<void> => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      await runtime.remove(id).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, next));
  if (failures.length > 0) throw failures[0];
}
