import { type Cancel, throwIfCancelled } from '../core/cancel.ts';
import { GeodeError } from '../core/errors.ts';
import type { Journals } from '../core/journal.ts';
import type { PersistentSandbox, PersistentSpec, SandboxStatus } from '../core/persistent.ts';
import { Admission, type AdmissionLimits } from './admission.ts';
import type { Book, Entry } from './book.ts';
import { handleOf } from './handle.ts';
import { Held } from './held.ts';
import { Holdings } from './holdings.ts';
import { KeyedTurns } from './keyed-turns.ts';
import { checkAgreement, checkLabels, checkName, ownerText } from './owner.ts';
import { rollCall } from './roll-call.ts';
import type { Supply } from './supply.ts';
import { forkWorkspace } from './workspaces/fork-workspace.ts';

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
  readonly #holdings = new Holdings();
  readonly #turns = new KeyedTurns();
  readonly #working = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  constructor({ book, supply, limits }: RegistryOptions) {
    this.#book = book;
    this.#supply = supply;
    this.#admission = new Admission(limits, () => this.#holdings.running().map(({ user }) => user));
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

  pause(user: string, chat: string, cancel: Cancel = {}): Promise<void> {
    return this.inTurn(user, chat, cancel, async () => {
      const held = this.heldOf(await this.#get(user, chat));
      if (held === undefined)
        throw new GeodeError('sandbox_stopped', 'A sandbox that does not run cannot be paused.');
      await held.pause(cancel);
    });
  }

  fork(
    user: string,
    chat: string,
    to: string,
    { snapshot, ...cancel }: { readonly snapshot?: string } & Cancel,
  ): Promise<PersistentSandbox> {
    return this.#inTurns(user, [chat, to], cancel, async () => {
      const source = await this.#get(user, chat);
      await this.#checkFree(user, to);
      await this.#open(source, cancel);
      const freezer = this.heldOf(source)?.sandbox.freezer;
      const { workspaces } = this.#supply.runtime(source.runtime);
      if (workspaces === undefined)
        throw new GeodeError(
          'cannot_enforce',
          'A sandbox whose files are not on this host cannot be forked.',
        );
      const spec = { ...source.spec, runtime: source.runtime };
      return this.#create(user, to, spec, cancel, async (id) => {
        await using from = await workspaces.hold(source.id);
        await using into = await workspaces.hold(id);
        const freeze = freezer && (() => freezer.hold());
        await forkWorkspace(from, into, { snapshot, freeze, ...cancel });
      });
    });
  }

  /** Something in the ledger changes, and nothing of the sandbox. */
  change(user: string, chat: string, write: (book: Book, id: string) => void): Promise<SandboxStatus> {
    return this.inTurn(user, chat, {}, async () => {
      const { id } = await this.#get(user, chat);
      write(this.#book, id);
      return this.inspect(user, chat);
    });
  }

  rename(user: string, chat: string, to: string): Promise<SandboxStatus> {
    return this.#inTurns(user, [chat, to], {}, async () => {
      const { id, runtime, spec } = await this.#get(user, chat);
      await this.#checkFree(user, to);
      await this.#supply.runtime(runtime).assign(id, ownerText({ user, chat: to, spec }));
      this.#book.rename(id, to);
      return this.inspect(user, to);
    });
  }

  async inspect(user: string, chat: string, cancel: Cancel = {}): Promise<SandboxStatus> {
    const [status] = await this.#rollCall([this.#look(user, chat)], cancel);
    if (status !== undefined) return status;
    throw new GeodeError('internal', 'A sandbox without a status.');
  }

  /** Of one user, or of all. */
  async list(user: string | undefined, cancel: Cancel = {}): Promise<readonly SandboxStatus[]> {
    const entries = user === undefined ? this.#book.all() : this.#book.ofUser(checkName(user, 'user'));
    const staying = entries.filter(({ removing }) => !removing);
    return this.#rollCall(staying, cancel);
  }

  async journals(user: string, chat: string): Promise<Journals> {
    const entry = this.#look(user, chat);
    return this.heldOf(entry)?.sandbox.journals ?? this.#supply.runtime(entry.runtime).journals(entry.id);
  }

  /** If it runs under this host. */
  heldOf({ id }: Pick<Entry, 'id'>): Held | undefined {
    return this.#holdings.get(id);
  }

  /** Takes a sandbox that runs, with everything that runs in it. */
  async adopt(entry: Entry, cancel: Cancel = {}): Promise<void> {
    const runtime = this.#supply.runtime(entry.runtime);
    await this.#holdings.take(entry, await runtime.adopt(entry.id, cancel), runtime, cancel);
  }

  /** In the chat's turn: ends what runs and keeps the rest. */
  async halt(entry: Entry): Promise<void> {
    const held = this.heldOf(entry);
    this.noteActivity();
    this.#holdings.drop(entry.id);
    if (held !== undefined) await held.halt();
    else await this.#supply.runtime(entry.runtime).halt(entry.id);
  }

  /** In the chat's turn: removes it for good. Once begun it is finished, by a later host if need be. */
  async discard({ id, runtime }: Entry): Promise<void> {
    this.#book.markRemoving(id);
    await this.#holdings.get(id)?.sandbox.release();
    await this.#supply.runtime(runtime).remove(id);
    this.#holdings.drop(id);
    this.#book.remove(id);
  }

  /** Writes down how far the activity of everything that runs has come. */
  noteActivity(): void {
    this.#book.noteActivity(this.#holdings.activity(Date.now()));
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
    await this.#holdings.release();
  }

  /** The turns of both chats, always in the same order, so that two such calls cannot wait for each other. */
  #inTurns<T>(
    user: string,
    chats: readonly [string, string],
    cancel: Cancel,
    work: () => Promise<T>,
  ): Promise<T> {
    const [first, second] = chats.toSorted();
    if (first === undefined || second === undefined || first === second)
      return this.inTurn(user, chats[0], cancel, work);
    return this.inTurn(user, first, cancel, () => this.inTurn(user, second, cancel, work));
  }

  async #checkFree(user: string, chat: string): Promise<void> {
    if ((await this.#find(user, chat)) === undefined) return;
    throw new GeodeError(
      'sandbox_exists',
      `There is a sandbox of ${JSON.stringify(chat.slice(0, 200))} already.`,
    );
  }

  #rollCall(entries: readonly Entry[], cancel: Cancel): Promise<readonly SandboxStatus[]> {
    return rollCall(entries, this.#supply.runtimes, (id) => this.#holdings.get(id), cancel);
  }

  /** A removal that was begun is finished first. */
  async #find(user: string, chat: string): Promise<Entry | undefined> {
    const entry = this.#book.find(user, chat);
    if (!entry?.removing) return entry;
    await this.discard(entry);
    return undefined;
  }

  async #get(user: string, chat: string): Promise<Entry> {
    return (await this.#find(user, chat)) ?? notFound(chat);
  }

  /** Without a turn: as it is at this moment. */
  #look(user: string, chat: string): Entry {
    const entry = this.#book.find(checkName(user, 'user'), checkName(chat, 'chat'));
    return entry === undefined || entry.removing ? notFound(chat) : entry;
  }

  async #open(entry: Entry, cancel: Cancel): Promise<PersistentSandbox> {
    const { id, user, runtime, spec } = entry;
    const start = async () => {
      const sandbox = await this.#supply.start(id, runtime, spec, cancel);
      return this.#holdings.take(entry, sandbox, this.#supply.runtime(runtime), cancel);
    };
    const held = this.heldOf(entry) ?? (await this.#admission.admit(user, start));
    if (held.pausedSince !== undefined) await held.resume(cancel);
    return handleOf(entry, held);
  }

  /** Reality first: the sandbox says whose it is before the ledger does. */
  #create(
    user: string,
    chat: string,
    spec: PersistentSpec,
    cancel: Cancel,
    fill: (id: string) => Promise<void> = async () => {},
  ): Promise<PersistentSandbox> {
    const labels = checkLabels(spec.labels ?? {});
    return this.#admission.admit(user, async () => {
      const { runtime, sandbox } = await this.#supply.claim(spec, cancel);
      try {
        throwIfCancelled(cancel.signal, 'Making the sandbox');
        await fill(sandbox.id);
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
        const held = new Held(sandbox, user, runtime);
        this.#holdings.put(held);
        return handleOf({ ...entry, keptUntil: 0, thinkingUntil: 0, removing: false }, held);
      } catch (error) {
        await sandbox.stop().catch(() => {});
        throw error;
      }
    });
  }
}

function notFound(chat: string): never {
  throw new GeodeError('sandbox_not_found', `There is no sandbox of ${JSON.stringify(chat.slice(0, 200))}.`);
}
