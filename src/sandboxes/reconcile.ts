import type { Cancel } from '../core/cancel.ts';
import { isGeodeError, reasonOf } from '../core/errors.ts';
import type { Runtime, RuntimeName, SandboxFacts } from '../core/runtime.ts';
import type { Book, Entry } from './book.ts';
import { isOrphan } from './host-mark.ts';
import { parseOwner } from './owner.ts';
import { reap } from './reap.ts';
import type { Registry } from './registry.ts';

const atOnce = 8;

/** What a runtime says is there. */
interface Reality {
  readonly runtime: Runtime;
  readonly facts: ReadonlyMap<string, SandboxFacts>;
  /** Everything that something is left of, records or not. */
  readonly traces: ReadonlySet<string>;
}

export interface Reconciled {
  /** Every runtime that the ledger names has answered. */
  readonly complete: boolean;
  /** Blank sandboxes of dead hosts are being removed; resolves with their ids. */
  readonly reaping: Promise<readonly string[]>;
}

/**
 * Makes the ledger agree with reality, which is always right, and takes over everything that runs. A
 * runtime that does not answer is left alone, and so is what the ledger says of it.
 */
export async function reconcile(
  registry: Registry,
  book: Book,
  runtimes: readonly Runtime[],
  warn: (message: string) => void,
  closing: AbortSignal,
  cancel: Cancel = {},
): Promise<Reconciled> {
  const realities = (await Promise.all(runtimes.map((runtime) => lookAt(runtime, cancel)))).filter(
    (reality) => reality !== undefined,
  );
  for (const reality of realities) addUnknown(book, reality, warn);
  const byName = new Map<RuntimeName, Reality>(realities.map((reality) => [reality.runtime.name, reality]));
  const waiting = [...book.all()];
  let complete = true;
  const settleNext = async (): Promise<void> => {
    for (let entry = waiting.shift(); entry !== undefined; entry = waiting.shift()) {
      const reality = byName.get(entry.runtime);
      if (reality === undefined) complete = false;
      else
        await registry.inTurn(entry.user, entry.chat, cancel, () =>
          settle(registry, book, entry, reality, warn, cancel),
        );
    }
  };
  await Promise.all(Array.from({ length: atOnce }, settleNext));
  const known = new Set(book.all().map(({ id }) => id));
  return {
    complete,
    reaping: reap(runtimes, (id) => isOrphan('room', id) && !known.has(id), { signal: closing }).catch(
      () => [],
    ),
  };
}

async function lookAt(runtime: Runtime, cancel: Cancel): Promise<Reality | undefined> {
  const found = await runtime.probe(cancel);
  if (!found.available) return undefined;
  try {
    const [facts, traces] = [await runtime.list(cancel), await runtime.traces(cancel)];
    return { runtime, facts: new Map(facts.map((fact) => [fact.id, fact])), traces: new Set(traces) };
  } catch {
    return undefined;
  }
}

/** A host may have died between giving a sandbox its owner and writing it down; or the ledger was lost. */
function addUnknown(book: Book, { runtime, facts }: Reality, warn: (message: string) => void): void {
  const known = new Set(book.all().map(({ id }) => id));
  for (const { id, owner: text, createdAt } of facts.values()) {
    const owner = parseOwner(text);
    if (owner === undefined || known.has(id)) continue;
    const { user, chat, spec } = owner;
    if (book.find(user, chat) !== undefined) {
      warn(`Sandbox ${id} belongs to a chat that has another one; it is left as it is.`);
      continue;
    }
    const labels = spec.labels ?? {};
    book.add({ id, user, chat, runtime: runtime.name, spec, labels, createdAt, activeAt: Date.now() });
  }
}

async function settle(
  registry: Registry,
  book: Book,
  entry: Entry,
  { runtime, facts, traces }: Reality,
  warn: (message: string) => void,
  cancel: Cancel,
): Promise<void> {
  const { id } = entry;
  try {
    if (entry.removing) return await registry.discard(entry);
    if (!traces.has(id)) return book.remove(id);
    const runs = ['running', 'paused'].includes(facts.get(id)?.state ?? 'unknown');
    if (!runs || registry.heldOf(entry) !== undefined) return;
    await registry.adopt(entry, cancel);
  } catch (error) {
    if (isGeodeError(error, 'cancelled')) throw error;
    warn(`Sandbox ${id} could not be taken over: ${reasonOf(error)}`);
    // What cannot be reached is of no use running; its files are.
    if (!isGeodeError(error, 'sandbox_held')) await runtime.halt(id).catch(() => {});
  }
}
