import { type Cancel, throwIfCancelled } from '../core/cancel.ts';
import { GeodeError } from '../core/errors.ts';
import type { Journals } from '../core/journal.ts';
import type { PersistentSandbox, PersistentSpec, SandboxStatus } from '../core/persistent.ts';
import type { Sandbox } from '../core/sandbox.ts';
import { Admission, type AdmissionLimits } from './admission.ts';
import type { Book, Entry } from './book.ts';
import { handleOf } from './handle.ts';
import { Held } from './held.ts';
import { KeyedTurns } from './keyed-turns.ts';
import { checkAgreement, checkLabels, checkName, ownerText } from './owner.ts';
import { statusOf } from './status.ts';
import type { Supply } from './supply.ts';

export interface RegistryOptions {
  readonly book: Book;
  readonly supply: Supply;
  readonly limits: AdmissionLimits;
}

/**
 * The sandboxes of all users. What is done to one chat's is done one thing after the other; what is done to
 * another's does not wait for it.
 */
export class Registry implements AsyncDisposable {
  readonly #book: Book;
  readonly #supply: Supply;
  readonly #admission: Admission;
  readonly #held = new Map<string, Held>();
  readonly #turns = new KeyedTurns();
  readonly #working = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  constructor({ book, supply, limits }: RegistryOptions) {
    this.#book = book;
    this.#supply = supply;
    this.#admission = new Admission(limits, () => this.#running().map(({ user }) => user));
  }

  getOrCreate(
    user: string,
    chat: string,
    spec: PersistentSpec,
    cancel: Cancel = {},
  ): Promise<PersistentSandbox> {
    return this.inTurn(user, chat, cancel, async () => {
      const entry = await this.#find(user, chat);
      if (entry === undefined) return this.#create(user, chat, spec, cancel);
      checkAgreement(spec, entry.spec);
      return this.#open(entry, cancel);
    });
  }

  start(user: string, chat: string, cancel: Cancel = {}): Promise<PersistentSandbox> {
    return this.inTurn(user, chat, cancel, async () => this.#open(await this.#get(user, chat), cancel));
  }

  stop(user: string, chat: string, cancel: Cancel = {}): Promise<void> {
    return this.inTurn(user, chat, cancel, async () => this.halt(await this.#get(user, chat)));
  }

  remove(user: string, chat: string, cancel: Cancel = {}): Promise<boolean> {
    return this.inTurn(user, chat, cancel, async () => {
      const entry = await this.#find(user, chat);
      if (entry !== undefined) await this.discard(entry);
      return entry !== undefined;
    });
  }

  /** Something in the ledger changes, and nothing of the sandbox. */
  change(user: string, chat: string, write: (book: Book, id: string) => void): Promise<SandboxStatus> {
    return this.inTurn(user, chat, {}, async () => {
      const { id } = await this.#get(user, chat);
      write(this.#book, id);
      return this.#statusOf(user, chat, {});
    });
  }

  /** The turns of both chats, always in the same order, so that two renames cannot wait for each other. */
  rename(user: string, chat: string, to: string): Promise<SandboxStatus> {
    const [first = chat, second = to] = [chat, to].sort();
    const turns = (work: () => Promise<SandboxStatus>) =>
      this.inTurn(user, first, {}, () => (first === second ? work() : this.inTurn(user, second, {}, work)));
    return turns(async () => {
      const { id, runtime, spec } = await this.#get(user, chat);
      if ((await this.#find(user, to)) !== undefined) {
        throw new GeodeError('sandbox_exists', `There is a sandbox of ${JSON.stringify(to)} already.`);
      }
      await this.#supply.runtime(runtime).assign(id, ownerText({ user, chat: to, spec }));
      this.#book.rename(id, to);
      return this.#statusOf(user, to, {});
    });
  }

  async inspect(user: string, chat: string, cancel: Cancel = {}): Promise<SandboxStatus> {
    return this.#statusOf(user, chat, cancel);
  }

  /** Of one user, or of all. */
  async list(user: string | undefined, cancel: Cancel = {}): Promise<readonly SandboxStatus[]> {
    const entries = user === undefined ? this.#book.all() : this.#book.ofUser(checkName(user, 'user'));
    return this.#statuses(
      entries.filter(({ removing }) => !removing),
      cancel,
    );
  }

  async journals(user: string, chat: string): Promise<Journals> {
    const entry = await this.#get(checkName(user, 'user'), checkName(chat, 'chat'));
    return this.heldOf(entry)?.sandbox.journals ?? this.#supply.runtime(entry.runtime).journals(entry.id);
  }

  /** If it runs under this host. One that has ended is let go of. */
  heldOf({ id }: Pick<Entry, 'id'>): Held | undefined {
    const held = this.#held.get(id);
    if (held?.sandbox.end === undefined) return held;
    this.#held.delete(id);
    void held.sandbox.release();
    return undefined;
  }

  /** Takes a sandbox that runs, with everything that runs in it. */
  async adopt({ id, user, runtime }: Entry, cancel: Cancel = {}): Promise<void> {
    const sandbox = await this.#supply.runtime(runtime).adopt(id, cancel);
    await this.#take(sandbox, user, cancel);
  }

  /** In the chat's turn: ends what runs and keeps the rest. */
  async halt(entry: Entry): Promise<void> {
    const held = this.heldOf(entry);
    this.noteActivity();
    this.#held.delete(entry.id);
    if (held !== undefined) await held.halt();
    else await this.#supply.runtime(entry.runtime).halt(entry.id);
  }

  /** In the chat's turn: removes it for good. Once begun it is finished, by a later host if need be. */
  async discard({ id, runtime }: Entry): Promise<void> {
    this.#book.markRemoving(id);
    const held = this.#held.get(id);
    if (held !== undefined) await held.sandbox.stop();
    else await this.#supply.runtime(runtime).remove(id);
    this.#held.delete(id);
    this.#book.remove(id);
  }

  /** Writes down how far the activity of everything that runs has come. */
  noteActivity(now = Date.now()): void {
    const times = this.#running().map(
      ({ sandbox: { id, activity } }) => [id, activity.open > 0 ? now : activity.endedAt] as const,
    );
    this.#book.noteActivity(new Map(times));
  }

  async inTurn<T>(user: string, chat: string, cancel: Cancel, work: () => Promise<T>): Promise<T> {
    const key = JSON.stringify([checkName(user, 'user'), checkName(chat, 'chat')]);
    const turn = this.#turns.in(key, 'Waiting for the sandbox', cancel, async () => {
      if (this.#closing !== undefined)
        throw new GeodeError('stopping', 'This host is letting go of its sandboxes.');
      return work();
    });
    this.#working.add(turn);
    return turn.finally(() => this.#working.delete(turn));
  }

  /** Lets go of all, when what is being done to them is done. They go on. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    // Who waits for a turn is refused; who has one finishes.
    await Promise.resolve();
    await Promise.allSettled(this.#working);
    this.noteActivity();
    await Promise.all([...this.#held.values()].map(({ sandbox }) => sandbox.release()));
    this.#held.clear();
  }

  /** A removal that was begun is finished first. */
  async #find(user: string, chat: string): Promise<Entry | undefined> {
    const entry = this.#book.find(user, chat);
    if (!entry?.removing) return entry;
    await this.discard(entry);
    return undefined;
  }

  async #get(user: string, chat: string): Promise<Entry> {
    const entry = await this.#find(user, chat);
    if (entry !== undefined) return entry;
    throw new GeodeError(
      'sandbox_not_found',
      `There is no sandbox of ${JSON.stringify(chat.slice(0, 200))}.`,
    );
  }

  async #open(entry: Entry, cancel: Cancel): Promise<PersistentSandbox> {
    const { id, user, runtime, spec } = entry;
    const held = this.heldOf(entry);
    if (held !== undefined) return handleOf(entry, held);
    return this.#admission.admit(user, async () => {
      const sandbox = await this.#supply.start(id, runtime, spec, cancel);
      return handleOf(entry, await this.#take(sandbox, user, cancel));
    });
  }

  /** Reality first: the sandbox says whose it is before the ledger does. */
  #create(user: string, chat: string, spec: PersistentSpec, cancel: Cancel): Promise<PersistentSandbox> {
    const labels = checkLabels(spec.labels ?? {});
    return this.#admission.admit(user, async () => {
      const { runtime, sandbox } = await this.#supply.claim(spec, cancel);
      try {
        throwIfCancelled(cancel.signal, 'Making the sandbox');
        await runtime.assign(sandbox.id, ownerText({ user, chat, spec }));
        const now = Date.now();
        const entry = {
          id: sandbox.id,
          user,
          chat,
          runtime: runtime.name,
          spec,
          labels,
          createdAt: now,
          activeAt: now,
        };
        this.#book.add(entry);
        const held = new Held(sandbox, user);
        this.#held.set(sandbox.id, held);
        return handleOf({ ...entry, keptUntil: 0, thinkingUntil: 0, removing: false }, held);
      } catch (error) {
        await sandbox.stop().catch(() => {});
        throw error;
      }
    });
  }

  /** With everything that goes on in it, if an earlier host left it running. */
  async #take(sandbox: Sandbox, user: string, cancel: Cancel): Promise<Held> {
    const held = new Held(sandbox, user);
    try {
      await held.resume(cancel);
    } catch (error) {
      await sandbox.release();
      throw error;
    }
    this.#held.set(sandbox.id, held);
    return held;
  }

  #running(): readonly Held[] {
    return [...this.#held.values()].filter(({ sandbox }) => sandbox.end === undefined);
  }

  async #statusOf(user: string, chat: string, cancel: Cancel): Promise<SandboxStatus> {
    const entry = await this.#get(checkName(user, 'user'), checkName(chat, 'chat'));
    const [status] = await this.#statuses([entry], cancel);
    if (status !== undefined) return status;
    throw new GeodeError('internal', 'A sandbox without a status.');
  }

  async #statuses(entries: readonly Entry[], cancel: Cancel): Promise<readonly SandboxStatus[]> {
    const others = entries.filter((entry) => this.heldOf(entry) === undefined);
    const names = [...new Set(others.map(({ runtime }) => runtime))];
    const ids = others.map(({ id }) => id);
    const found = await Promise.all(
      names.map((name) =>
        this.#supply
          .runtime(name)
          .list({ ids, ...cancel })
          .catch(() => []),
      ),
    );
    const facts = new Map(found.flat().map((fact) => [fact.id, fact]));
    const now = Date.now();
    return entries.map((entry) => statusOf(entry, this.heldOf(entry), facts.get(entry.id), now));
  }
}
