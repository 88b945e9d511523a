import { type Cancel, throwIfCancelled } from '../base/cancel.ts';
import { reasonOf } from '../base/errors.ts';
import type { SweepReport } from '../seams/persistent.ts';
import type { AttachedSandbox } from './attached-sandbox.ts';
import { type IdleAction, type IdleFacts, type SweepPolicy, verdictOn } from './idle.ts';
import type { Registry } from './registry.ts';
import type { SandboxRow } from './sandbox-table.ts';
import { activeAt } from './status.ts';

/** Checks every sandbox once: stops or hibernates idle ones, removes old ones, completes removals. */
export async function sweep(
  registry: Registry,
  policy: SweepPolicy,
  { signal }: Cancel = {},
): Promise<SweepReport> {
  const report = {
    stopped: [] as string[],
    hibernated: [] as string[],
    removed: [] as string[],
    failed: [] as { id: string; reason: string }[],
  };
  registry.noteActivity();
  /** The sandbox, if the policy lets it hibernate. */
  const sleeperOf = (entry: SandboxRow): AttachedSandbox | undefined => {
    const held = policy.idle === 'hibernate' ? registry.heldOf(entry) : undefined;
    return held?.sandbox.checkpoints === undefined ? undefined : held;
  };
  const judged = (entry: SandboxRow): IdleAction =>
    entry.removing ? 'remove' : verdictOn(standingOf(registry, entry, sleeperOf(entry)), policy, Date.now());
  for (const entry of registry.table.all()) {
    throwIfCancelled(signal, 'The sweep');
    // A sandbox that does not answer is judged by what is known.
    await sleeperOf(entry)
      ?.lookForWork({ signal })
      .catch(() => {});
    // A sandbox in use is not idle, and the sweep never waits.
    if (judged(entry) === 'keep' || registry.isBusy(entry)) continue;
    try {
      const verdict = await registry.inTurn(entry.user, entry.chat, { signal }, () => carryOut(entry));
      if (verdict === 'stop') report.stopped.push(entry.id);
      if (verdict === 'hibernate') report.hibernated.push(entry.id);
      if (verdict === 'remove') report.removed.push(entry.id);
    } catch (error) {
      report.failed.push({ id: entry.id, reason: reasonOf(error) });
    }
  }
  return report;

  /** The turn may have taken long to come, so everything is checked again. */
  async function carryOut({ id, user, chat }: SandboxRow): Promise<IdleAction | 'hibernate'> {
    const entry = registry.table.find(user, chat);
    if (entry === undefined || entry.id !== id) return 'keep';
    const verdict = judged(entry);
    if (verdict === 'remove') await registry.discard(entry);
    if (verdict !== 'stop') return verdict;
    if (sleeperOf(entry) !== undefined) {
      await registry.hibernate(entry, 'idle', { signal });
      return 'hibernate';
    }
    if (await registry.heldOf(entry)?.isWorking({ signal })) return 'keep';
    await registry.halt(entry, 'idle');
    return 'stop';
  }
}

/** If we cannot tell whether it runs, leave it alone. */
function standingOf(registry: Registry, entry: SandboxRow, sleeper: AttachedSandbox | undefined): IdleFacts {
  const held = registry.heldOf(entry);
  const { open, endedAt } = sleeper?.useByCallers ?? {
    open: held?.activity.open ?? 0,
    endedAt: activeAt(entry, held, Date.now()),
  };
  return {
    state: held === undefined ? 'stopped' : 'running',
    open: registry.isUnknown(entry) ? 1 : open,
    activeAt: endedAt,
    keptUntil: entry.keptUntil,
    thinkingUntil: entry.thinkingUntil,
  };
}
