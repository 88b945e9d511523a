import { type Cancel, throwIfCancelled } from '../base/cancel.ts';
import { reasonOf } from '../base/errors.ts';
import type { SweepReport } from '../seams/persistent.ts';
import { type IdleAction, type IdleFacts, type SweepPolicy, verdictOn } from './idle.ts';
import type { Registry } from './registry.ts';
import type { SandboxRow } from './sandbox-table.ts';
import { activeAt } from './status.ts';

/** Checks every sandbox once: stops idle ones, removes old ones, completes removals. */
export async function sweep(
  registry: Registry,
  policy: SweepPolicy,
  { signal }: Cancel = {},
): Promise<SweepReport> {
  const report = {
    stopped: [] as string[],
    removed: [] as string[],
    failed: [] as { id: string; reason: string }[],
  };
  registry.noteActivity();
  const judged = (entry: SandboxRow): IdleAction =>
    entry.removing ? 'remove' : verdictOn(standingOf(registry, entry), policy, Date.now());
  for (const entry of registry.table.all()) {
    throwIfCancelled(signal, 'The sweep');
    // A sandbox in use is not idle, and the sweep never waits.
    if (judged(entry) === 'keep' || registry.isBusy(entry)) continue;
    try {
      const verdict = await registry.inTurn(entry.user, entry.chat, { signal }, () => carryOut(entry));
      if (verdict === 'stop') report.stopped.push(entry.id);
      if (verdict === 'remove') report.removed.push(entry.id);
    } catch (error) {
      report.failed.push({ id: entry.id, reason: reasonOf(error) });
    }
  }
  return report;

  /** The turn may have taken long to come, so everything is checked again. */
  async function carryOut({ id, user, chat }: SandboxRow): Promise<IdleAction> {
    const entry = registry.table.find(user, chat);
    if (entry === undefined || entry.id !== id) return 'keep';
    const verdict = judged(entry);
    if (verdict === 'remove') await registry.discard(entry);
    if (verdict !== 'stop') return verdict;
    if (await registry.heldOf(entry)?.isWorking({ signal })) return 'keep';
    await registry.halt(entry, 'idle');
    return 'stop';
  }
}

/** If we cannot tell whether it runs, leave it alone. */
function standingOf(registry: Registry, entry: SandboxRow): IdleFacts {
  const held = registry.heldOf(entry);
  return {
    state: held === undefined ? 'stopped' : 'running',
    open: registry.isUnknown(entry) ? 1 : (held?.activity.open ?? 0),
    activeAt: activeAt(entry, held, Date.now()),
    keptUntil: entry.keptUntil,
    thinkingUntil: entry.thinkingUntil,
  };
}
