import type { Cancel } from '../core/cancel.ts';
import type { SandboxStatus } from '../core/persistent.ts';
import type { Entry } from './book.ts';
import type { Holdings } from './holdings.ts';
import { statusOf } from './status.ts';
import type { Supply } from './supply.ts';

/** How each sandbox is: by its link if this host holds it, and otherwise as its runtime says. */
export async function rollCall(
  entries: readonly Entry[],
  holdings: Holdings,
  supply: Supply,
  cancel: Cancel,
): Promise<readonly SandboxStatus[]> {
  const others = entries.filter(({ id }) => holdings.get(id) === undefined);
  const ids = others.map(({ id }) => id);
  const runtimes = [...new Set(others.map(({ runtime }) => runtime))].map((name) => supply.runtime(name));
  const answers = await Promise.all(
    // Of a runtime that does not answer nothing is known.
    runtimes.map((runtime) => runtime.list({ ids, ...cancel }).catch(() => [])),
  );
  const facts = new Map(answers.flat().map((fact) => [fact.id, fact]));
  const now = Date.now();
  return entries.map((entry) => statusOf(entry, holdings.get(entry.id), facts.get(entry.id), now));
}
