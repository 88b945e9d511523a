import type { Cancel } from '../core/cancel.ts';
import { isGeodeError, reasonOf } from '../core/errors.ts';
import type { Runtime, SandboxFacts } from '../core/runtime.ts';
import type { Book, Entry } from './book.ts';
import { isOrphan } from './host-mark.ts';
import { type Owner, parseOwner } from './owner.ts';
import { reap } from './reap.ts';
import type { Registry } from './registry.ts';

const atOnce = 8;

/** What is to agree. */
export interface Sides {
  readonly registry: Registry;
  readonly runtimes: readonly Runtime[];
  readonly warn: (message: string) => void;
}

/** What a runtime says is there. */
interface Reality {
  readonly runtime: Runtime;
  readonly facts: readonly SandboxFacts[];
}

/**
 * Makes the ledger agree with reality, which is always right, and takes over everything that runs. What a
 * runtime does not answer for is left alone, and stays unsettled. Blank sandboxes of dead hosts are removed
 * meanwhile: the answer resolves with their ids, soon after `closing`.
 */
export async function reconcile(
  sides: Sides,
  closing: AbortSignal,
  cancel: Cancel = {},
): Promise<{ readonly reaping: Promise<readonly string[]> }> {
  const { registry, runtimes } = sides;
  const { book } = registry;
  const looked = await Promise.all(runtimes.map((runtime) => lookAt(runtime, cancel)));
  const realities = looked.filter((reality) => reality !== undefined);
  for (const reality of realities) await addUnknown(sides, reality, cancel);
  const seen = new Map(realities.flatMap(({ facts }) => facts.map((fact) => [fact.id, fact] as const)));
  await settleAll(sides, book.all(), (id) => seen.get(id), cancel);
  const known = new Set(book.all().map(({ id }) => id));
  const answering = realities.map(({ runtime }) => runtime);
  const reaping = reap(answering, (id) => isOrphan('room', id) && !known.has(id), { signal: closing });
  return { reaping: reaping.catch(() => []) };
}

/** Those of which it is not known whether they run: an engine that was away may be back. */
export async function reconcileUnsettled(sides: Sides, cancel: Cancel = {}): Promise<void> {
  const entries = sides.registry.book.all().filter(({ id }) => sides.registry.unsettled.has(id));
  await settleAll(sides, entries, () => undefined, cancel);
}

async function lookAt(runtime: Runtime, cancel: Cancel): Promise<Reality | undefined> {
  const found = await runtime.probe(cancel);
  if (!found.available) return undefined;
  return runtime.list(cancel).then(
    (facts) => ({ runtime, facts }),
    () => undefined,
  );
}

/** A host may have died between giving a sandbox its owner and writing it down; or the ledger was lost. */
async function addUnknown(
  { registry, warn }: Sides,
  { runtime, facts }: Reality,
  cancel: Cancel,
): Promise<void> {
  const { book } = registry;
  const known = new Set(book.all().map(({ id }) => id));
  const add = async (id: string, { user, chat, spec }: Owner, createdAt: number) => {
    const other = book.find(user, chat);
    if (other === undefined) {
      const labels = spec.labels ?? {};
      book.add({ id, user, chat, runtime: runtime.name, spec, labels, createdAt, activeAt: Date.now() });
    } else if (other.id !== id)
      warn(`Sandbox ${id} belongs to a chat that has another one; it is left as it is.`);
  };
  for (const { id, owner: text, createdAt } of facts) {
    const owner = parseOwner(text);
    if (owner === undefined || known.has(id)) continue;
    await registry.inTurn(owner.user, owner.chat, cancel, () => add(id, owner, createdAt));
  }
}

async function settleAll(
  sides: Sides,
  entries: readonly Entry[],
  seen: (id: string) => SandboxFacts | undefined,
  cancel: Cancel,
): Promise<void> {
  const waiting = [...entries];
  const next = async (): Promise<void> => {
    for (let entry = waiting.shift(); entry !== undefined; entry = waiting.shift()) {
      const { id, user, chat } = entry;
      await sides.registry.inTurn(user, chat, cancel, () => settle(sides, user, chat, id, seen(id), cancel));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, next));
}

/** In the chat's turn, so what was seen before it began may be old, where something is to be removed. */
async function settle(
  { registry, runtimes, warn }: Sides,
  user: string,
  chat: string,
  id: string,
  seen: SandboxFacts | undefined,
  cancel: Cancel,
): Promise<void> {
  const { book } = registry;
  const entry = book.find(user, chat);
  const runtime = runtimes.find(({ name }) => name === entry?.runtime);
  if (entry?.id !== id || runtime === undefined) return;
  const wasUnsettled = registry.unsettled.has(id);
  registry.unsettled.add(id);
  try {
    if (entry.removing) await registry.discard(entry);
    else {
      const [fact] = seen === undefined ? await runtime.list({ ids: [id], ...cancel }) : [seen];
      if (fact === undefined && !(await runtime.traces(cancel)).includes(id)) book.remove(id);
      if (fact?.state === 'unknown') return;
      if (fact !== undefined) agree(book, entry, fact);
      if (fact?.state === 'running' || fact?.state === 'paused') {
        if (registry.heldOf(entry) === undefined) await registry.adopt(entry, cancel);
      } else if (wasUnsettled) await runtime.halt(id, cancel);
    }
    registry.unsettled.delete(id);
  } catch (error) {
    if (isGeodeError(error, 'cancelled')) throw error;
    warn(`Sandbox ${id} could not be taken over: ${reasonOf(error)}`);
    // With such a guest nobody can talk any more; the files can be had again.
    if (isGeodeError(error, 'guest_version') || isGeodeError(error, 'guest_protocol'))
      await runtime.halt(id).catch(() => {});
  }
}

/** A host may have died in the middle of giving it another name. */
function agree(book: Book, { id, user, chat }: Entry, { owner: text }: SandboxFacts): void {
  const owner = parseOwner(text);
  if (owner?.user !== user || owner.chat === chat || book.find(user, owner.chat) !== undefined) return;
  book.rename(id, owner.chat);
}
