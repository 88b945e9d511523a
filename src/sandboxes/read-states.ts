import type { Cancel } from '../base/cancel.ts';
import type { ListOptions, SandboxStatus, SandboxUsage } from '../seams/persistent.ts';
import type { Runtime } from '../seams/runtime.ts';
import type { AttachedSandbox } from './attached-sandbox.ts';
import type { SandboxRow } from './sandbox-table.ts';
import { statusOf } from './status.ts';

/** The state of each sandbox: from its link if this host holds it, otherwise from its runtime. */
export async function readStates(
  entries: readonly SandboxRow[],
  runtimes: readonly Runtime[],
  heldOf: (id: string) => AttachedSandbox | undefined,
  { usage: wanted = false, ...cancel }: ListOptions,
): Promise<readonly SandboxStatus[]> {
  const others = entries.filter(({ id }) => heldOf(id) === undefined);
  const answers = await Promise.all(
    runtimes.map((runtime) => {
      const ids = others.filter((entry) => entry.runtime === runtime.name).map(({ id }) => id);
      // If a runtime does not answer, its states are unknown.
      return ids.length === 0 ? [] : runtime.list({ ids, ...cancel }).catch(() => []);
    }),
  );
  const facts = new Map(answers.flat().map((fact) => [fact.id, fact]));
  const uses = new Map<string, SandboxUsage>();
  const measure = async ({ id }: SandboxRow) => {
    const use = await heldOf(id)?.use(cancel);
    if (use !== undefined) uses.set(id, use);
  };
  if (wanted) await Promise.all(entries.map(measure));
  const now = Date.now();
  return entries.map((entry) => {
    const status = statusOf(entry, heldOf(entry.id), facts.get(entry.id), now);
    const usage = status.state === 'running' ? uses.get(entry.id) : undefined;
    return usage === undefined ? status : { ...status, usage };
  });
}

/** Asks only where sandboxes can hibernate. */
export async function isHibernated(runtime: Runtime, id: string, cancel: Cancel): Promise<boolean> {
  if (runtime.checkpoints === undefined) return false;
  const [facts] = await runtime.list({ ids: [id], ...cancel });
  return facts?.state === 'hibernated';
}
