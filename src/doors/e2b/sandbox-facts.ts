/** Facts about a sandbox, in E2B's format. */

import { watchMetrics } from '../../sandboxes/metrics.ts';
import type { PersistentSandbox, SandboxStatus } from '../../seams/persistent.ts';
import type { E2bSandbox } from './e2b-table.ts';
import type { E2b } from './open-e2b.ts';

/**
 * The newest E2B guest version whose behaviour is fully supported: later ones store file metadata and report more
 * about changes.
 */
const envdVersion = '0.5.7';
const metricsMs = 200;

/** E2B calls a stopped or hibernated sandbox paused: it keeps its files and can be connected to. */
export function stateOf({ state }: SandboxStatus): 'running' | 'paused' {
  return state === 'running' || state === 'unknown' ? 'running' : 'paused';
}

export function factsOf(
  { limits: { cpus, memoryBytes, diskBytes }, domain }: E2b,
  known: E2bSandbox,
  status: SandboxStatus,
) {
  const mebibytes = (bytes: number | null | undefined) => Math.round((bytes ?? 0) / 1024 ** 2);
  return {
    sandboxID: known.id,
    templateID: known.template,
    clientID: 'geode',
    startedAt: new Date(known.startedAt).toISOString(),
    endAt: new Date(known.endAt ?? Date.now()).toISOString(),
    cpuCount: Math.max(1, Math.round(cpus ?? 1)),
    memoryMB: mebibytes(memoryBytes),
    diskSizeMB: mebibytes(diskBytes),
    metadata: known.metadata,
    ...(domain !== null && { domain }),
    state: stateOf(status),
    envdVersion,
  };
}

export function openedAnswer({ tokens, domain }: E2b, sandbox: E2bSandbox): object {
  const token = tokens.of(sandbox);
  return {
    sandboxID: sandbox.id,
    templateID: sandbox.template,
    clientID: 'geode',
    envdVersion,
    envdAccessToken: token,
    trafficAccessToken: token,
    ...(domain !== null && { domain }),
  };
}

/** One measurement over a moment, because CPU share needs two points in time. */
export async function metricsOf(sandbox: PersistentSandbox, signal: AbortSignal): Promise<readonly object[]> {
  const looks = watchMetrics(sandbox, metricsMs, { signal });
  for await (const { at, cpus, memoryBytes, diskBytes } of looks)
    return [
      {
        timestamp: new Date(at).toISOString(),
        timestampUnix: Math.floor(at / 1000),
        cpuCount: Math.max(1, Math.round(cpus.limit ?? 1)),
        cpuUsedPct: cpus.used * 100,
        memUsed: memoryBytes.used,
        memTotal: memoryBytes.limit ?? 0,
        memCache: 0,
        diskUsed: diskBytes?.used ?? 0,
        diskTotal: diskBytes?.limit ?? 0,
      },
    ];
  return [];
}
