import { setTimeout as delay } from 'node:timers/promises';
import { type Cancel, throwIfCancelled } from '../base/cancel.ts';
import { isGeodeError } from '../base/errors.ts';
import type { Metrics, Sandbox } from '../seams/sandbox.ts';

/** Resource use of a sandbox at one moment, with its limits. */
export interface Usage {
  /** In ms since 1970. */
  readonly at: number;
  /** Average CPUs used since the last measurement. `limit` is null without a limit. */
  readonly cpus: { readonly used: number; readonly limit: number | null };
  readonly memoryBytes: { readonly used: number; readonly limit: number | null; readonly soft: boolean };
  /** Tasks, threads included. The guest enforces a soft limit by counting, so it may be exceeded for a moment. */
  readonly pids: { readonly used: number; readonly limit: number | null; readonly soft: boolean };
  /** Disk use of the workspace; null if it has no file system of its own. */
  readonly diskBytes: { readonly used: number; readonly limit: number } | null;
  /** The guest not included. */
  readonly processes: number;
  readonly oomKills: number;
}

type Measured = Pick<Sandbox, 'metrics' | 'limits' | 'softLimits'>;

/**
 * Yields the usage of a sandbox repeatedly. The first value comes after one period, because CPU share needs two
 * measurements. Skips a paused sandbox until it is resumed. Ends with the sandbox, and throws `cancelled` on the
 * signal.
 */
export async function* watchMetrics(
  sandbox: Measured,
  everyMs: number,
  { signal }: Cancel = {},
): AsyncGenerator<Usage> {
  let before: Look | undefined;
  for (;;) {
    throwIfCancelled(signal, 'Watching the metrics');
    const now = await look(sandbox, { signal });
    if (now === 'gone') return;
    if (before !== undefined && now !== 'paused') yield usageBetween(before, now, sandbox);
    before = now === 'paused' ? undefined : now;
    await delay(everyMs, undefined, { signal }).catch(() => {});
  }
}

interface Look {
  readonly at: number;
  /** Monotonic times, independent of the system clock: the metrics are of a moment between them. */
  readonly askedAt: number;
  readonly answeredAt: number;
  readonly metrics: Metrics;
}

async function look(sandbox: Measured, cancel: Cancel): Promise<Look | 'paused' | 'gone'> {
  try {
    const askedAt = performance.now();
    const metrics = await sandbox.metrics(cancel);
    return { at: Date.now(), askedAt, answeredAt: performance.now(), metrics };
  } catch (error) {
    if (isGeodeError(error, 'sandbox_paused')) return 'paused';
    if (isGeodeError(error, 'sandbox_gone') || isGeodeError(error, 'sandbox_stopped')) return 'gone';
    throw error;
  }
}

function usageBetween(
  before: Look,
  { at, answeredAt, metrics }: Look,
  { limits, softLimits }: Measured,
): Usage {
  const usedMs = Math.max(metrics.cpuMs - before.metrics.cpuMs, 0);
  return {
    at,
    // The longest time that it can be: a late answer must not show more than was used.
    cpus: { used: usedMs / Math.max(answeredAt - before.askedAt, 1), limit: limits.cpus ?? null },
    memoryBytes: {
      used: metrics.memoryBytes,
      limit: limits.memoryBytes ?? null,
      soft: softLimits.includes('memory'),
    },
    pids: { used: metrics.pids, limit: limits.pids ?? null, soft: softLimits.includes('pids') },
    diskBytes:
      metrics.disk === null ? null : { used: metrics.disk.usedBytes, limit: metrics.disk.limitBytes },
    processes: metrics.processes,
    oomKills: metrics.oomKills,
  };
}
