import type { SandboxStatus } from '../seams/persistent.ts';
import type { SandboxFacts } from '../seams/runtime.ts';
import type { AttachedSandbox } from './attached-sandbox.ts';
import type { SandboxRow } from './sandbox-table.ts';

/** The status of a sandbox: owner from the ledger, state from the sandbox or its runtime. */
export function statusOf(
  entry: SandboxRow,
  held: AttachedSandbox | undefined,
  facts: SandboxFacts | undefined,
  now: number,
): SandboxStatus {
  const { id, user, chat, runtime, spec, labels, createdAt, keptUntil, thinkingUntil } = entry;
  const grade = held?.sandbox.grade ?? facts?.grade;
  return {
    id,
    user,
    chat,
    state: held === undefined ? (facts?.state ?? 'unknown') : held.paused ? 'paused' : 'running',
    runtime,
    ...(grade === undefined ? {} : { grade }),
    image: spec.image ?? null,
    labels,
    createdAt,
    activeAt: activeAt(entry, held, now),
    keptUntil,
    thinkingUntil,
  };
}

/** The last activity has not ended while one is in progress. */
export function activeAt(entry: SandboxRow, held: AttachedSandbox | undefined, now: number): number {
  if (held === undefined) return entry.activeAt;
  const { open, endedAt } = held.activity;
  return open > 0 ? now : Math.max(entry.activeAt, endedAt);
}
