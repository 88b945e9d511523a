import type { Cancel } from '../base/cancel.ts';
import { isGeodeError, reasonOf } from '../base/errors.ts';
import { isOrphan } from '../pool/host-mark.ts';
import { reap } from '../pool/reap.ts';
import type { Runtime } from '../seams/runtime.ts';
import { tidyCheckpoints } from './checkpoints/take-checkpoint.ts';
import { type Owner, parseOwner } from './owner.ts';
import type { Registry } from './registry.ts';
import type { SandboxRow, SandboxTable } from './sandbox-table.ts';

const atOnce = 8;

/** The two sides to reconcile. */
export interface Sides {
  readonly registry: Registry;
  readonly runtimes: readonly Runtime[];
  readonly warn: (message: string) => void;
}

/** Work that continues after a host has started; ends soon after `closing`. */
interface Settling {
  /** Resolves when every running sandbox was adopted or has failed. */
  readonly settled: Promise<void>;
  /** Removes blank sandboxes of dead hosts; resolves to their ids. */
  readonly reaping: Promise<readonly string[]>;
}

/**
 * Reconciles the ledger with reality, which always wins, and adopts every running sandbox. Starting waits only for
 * records: no engine and no guest can delay a host. A caller that needs a sandbox earlier adopts it first. Sandboxes
 * of a runtime that does not answer stay untouched and unsettled.
 */
export async function reconcile(sides: Sides, closing: AbortSignal, cancel: Cancel = {}): Promise<Settling> {
  const { registry, runtimes } = sides;
  const { table } = registry;
  for (const runtime of runtimes) await agreeWith(sides, runtime, cancel);
  const entries = table.all();
  registry.expect(entries, ({ id, user, chat }, stop) => settle(sides, user, chat, id, stop));
  const known = new Set(entries.map(({ id }) => id));
  const settled = inTurns(registry, entries, async () => {}, { signal: closing });
  const reaping = reapAnswering(runtimes, (id) => isOrphan('room', id) && !known.has(id), closing);
  return { settled: settled.catch(() => {}), reaping: reaping.catch(() => []) };
}

/** Retries sandboxes in an unknown state, because an engine may be back. */
export async function reconcileUnsettled(sides: Sides, cancel: Cancel = {}): Promise<void> {
  const entries = sides.registry.table.all().filter(({ id }) => sides.registry.unsettled.has(id));
  await inTurns(
    sides.registry,
    entries,
    ({ id, user, chat }) => settle(sides, user, chat, id, cancel),
    cancel,
  );
}

/** A host may have died between changing a sandbox's owner or name and recording it, or the ledger was lost. */
async function agreeWith({ registry, warn }: Sides, runtime: Runtime, cancel: Cancel): Promise<void> {
  const { table } = registry;
  const records = await runtime.recorded().catch(() => []);
  const entries = new Map(table.all().map((entry) => [entry.id, entry]));
  const add = async (id: string, { user, chat, spec }: Owner, createdAt: number) => {
    const other = table.find(user, chat);
    if (other === undefined) {
      const labels = spec.labels ?? {};
      table.add({ id, user, chat, runtime: runtime.name, spec, labels, createdAt, activeAt: Date.now() });
    } else if (other.id !== id)
      warn(`Sandbox ${id} belongs to a chat that has another one; it stays unchanged.`);
  };
  for (const { id, owner: text, createdAt } of records) {
    const owner = parseOwner(text);
    const entry = entries.get(id);
    if (entry !== undefined) agree(table, entry, owner);
    else if (owner !== undefined)
      await registry.inTurn(owner.user, owner.chat, cancel, () => add(id, owner, createdAt));
  }
}

async function reapAnswering(
  runtimes: readonly Runtime[],
  isLeft: (id: string) => boolean,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const probed = await Promise.all(
    runtimes.map(async (runtime) => ((await runtime.probe()).available ? [runtime] : [])),
  );
  return reap(probed.flat(), isLeft, { signal });
}

async function inTurns(
  registry: Registry,
  entries: readonly SandboxRow[],
  work: (entry: SandboxRow) => Promise<void>,
  cancel: Cancel,
): Promise<void> {
  const waiting = [...entries];
  const next = async (): Promise<void> => {
    for (let entry = waiting.shift(); entry !== undefined; entry = waiting.shift()) {
      const { user, chat } = entry;
      const current = entry;
      await registry.inTurn(user, chat, cancel, () => work(current));
    }
  };
  // Wait for each: one that is still adopting when the host closes would hold its sandbox after that.
  const ended = await Promise.allSettled(Array.from({ length: atOnce }, next));
  const failed = ended.find((each) => each.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/** In the chat's turn. */
async function settle(
  { registry, runtimes, warn }: Sides,
  user: string,
  chat: string,
  id: string,
  cancel: Cancel,
): Promise<void> {
  const { table } = registry;
  const entry = table.find(user, chat);
  const runtime = runtimes.find(({ name }) => name === entry?.runtime);
  if (entry?.id !== id || runtime === undefined) return;
  const wasUnsettled = registry.unsettled.has(id);
  registry.unsettled.add(id);
  try {
    if (entry.removing) await registry.discard(entry);
    else {
      const [fact] = await runtime.list({ ids: [id], ...cancel });
      if (fact === undefined && !(await runtime.traces(cancel)).includes(id)) table.remove(id);
      if (fact?.state === 'unknown') return;
      if (fact !== undefined) {
        agree(table, entry, parseOwner(fact.owner));
        await tidyCheckpoints(runtime, id);
      }
      if (fact?.state === 'running' || fact?.state === 'paused') {
        if (registry.heldOf(entry) === undefined) await registry.adopt(entry, cancel);
      } else if (fact?.state === 'hibernated') await runtime.halt(id, { keepMemory: true, ...cancel });
      else if (wasUnsettled) await runtime.halt(id, cancel);
    }
    registry.unsettled.delete(id);
  } catch (error) {
    if (isGeodeError(error, 'cancelled')) throw error;
    warn(`Sandbox ${id} could not be taken over: ${reasonOf(error)}`);
    // This guest can no longer be used, but its files can be restored.
    if (isGeodeError(error, 'guest_version') || isGeodeError(error, 'guest_protocol'))
      await runtime.halt(id).catch(() => {});
  }
}

/** A host may have died while renaming it. */
function agree(table: SandboxTable, { id, user, chat }: SandboxRow, owner: Owner | undefined): void {
  if (owner?.user !== user || owner.chat === chat || table.find(user, owner.chat) !== undefined) return;
  table.rename(id, owner.chat);
}
