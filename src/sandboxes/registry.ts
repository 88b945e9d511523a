import { type Cancel, throwIfCancelled, within } from '../base/cancel.ts';
import { GeodeError, isGeodeError } from '../base/errors.ts';
import { checkUser } from '../base/identity.ts';
import { KeyedTurns } from '../base/keyed-turns.ts';
import { type Log, noLog } from '../base/log.ts';
import type { Egress, EgressSpec } from '../seams/egress.ts';
import { type EventSink, noEvents, type SandboxEvent } from '../seams/events.ts';
import type { ListOptions, PersistentSandbox, PersistentSpec, SandboxStatus } from '../seams/persistent.ts';
import type { Runtime } from '../seams/runtime.ts';
import { noTools, type SandboxTools } from '../seams/tools.ts';
import { Admission, type AdmissionLimits } from './admission.ts';
import { Arrivals } from './arrivals.ts';
import type { AttachedSandbox } from './attached-sandbox.ts';
import { AttachedSandboxes } from './attached-sandboxes.ts';
import { starting } from './exec-span.ts';
import { checkLabels, checkName, keyOf, ownerText } from './owner.ts';
import { isHibernated, readStates } from './read-states.ts';
import { handleOf } from './sandbox-handle.ts';
import { checkNetwork, SandboxHatches } from './sandbox-hatches.ts';
import type { NewSandbox, SandboxSource } from './sandbox-source.ts';
import type { SandboxRow, SandboxTable } from './sandbox-table.ts';

/** How long closing waits for calls in progress; after that they fail. */
const closeDeadlineMs = 10_000;

export interface RegistryOptions {
  readonly table: SandboxTable;
  readonly source: SandboxSource;
  readonly limits: AdmissionLimits;
  /** Notified of every change to a sandbox. */
  readonly events?: EventSink;
  readonly log?: Log;
  /** Opens the hatches. */
  readonly egress: Egress;
  /** Serves the tool sessions of sandboxes that have one. */
  readonly tools?: SandboxTools;
  /** Maximum bytes of the checkpoints of one user; `null`: no limit. */
  readonly mostCheckpointBytes?: number | null;
}

/**
 * The sandboxes of all users, and the operations on one of them: in its chat's turn, one at a time. Work on different
 * sandboxes runs in parallel.
 */
export class Registry implements AsyncDisposable {
  readonly table: SandboxTable;
  readonly egress: Egress;
  readonly mostCheckpointBytes: number | null;
  readonly #hatches: SandboxHatches;
  readonly #tools: SandboxTools;
  readonly #source: SandboxSource;
  readonly #admission: Admission;
  readonly #attached: AttachedSandboxes;
  readonly #events: EventSink;
  readonly #arrivals = new Arrivals();
  readonly #turns = new KeyedTurns();
  readonly #working = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  constructor(options: RegistryOptions) {
    const { table, source, limits, egress, events = noEvents, log = noLog, tools = noTools } = options;
    this.table = table;
    this.egress = egress;
    this.mostCheckpointBytes = options.mostCheckpointBytes ?? null;
    this.#hatches = new SandboxHatches(egress);
    this.#events = events;
    this.#tools = tools;
    this.#attached = new AttachedSandboxes({ events, log, tools });
    this.#source = source;
    this.#admission = new Admission(limits, {
      running: () => this.#attached.running().map(({ user }) => user),
      unknown: () => this.#arrivals.users(),
      known: (cancel) => this.#arrivals.fewer(cancel),
    });
  }

  async inspect(user: string, chat: string, cancel: Cancel = {}): Promise<SandboxStatus> {
    const [status] = await this.#readStates([this.look(user, chat)], cancel);
    if (status !== undefined) return status;
    throw new GeodeError('internal', 'A sandbox without a status.');
  }

  /** The sandboxes of one user, or of all. */
  async list(user: string | undefined, options: ListOptions = {}): Promise<readonly SandboxStatus[]> {
    const entries = user === undefined ? this.table.all() : this.table.ofUser(checkName(user, 'user'));
    const staying = entries.filter(({ removing }) => !removing);
    return this.#readStates(staying, options);
  }

  runtimeOf({ runtime }: Pick<SandboxRow, 'runtime'>): Runtime {
    return this.#source.runtime(runtime);
  }

  /** The handle, if it runs under this host. */
  heldOf({ id }: Pick<SandboxRow, 'id'>): AttachedSandbox | undefined {
    return this.#attached.get(id);
  }

  /** Registers sandboxes of an earlier host. Each is settled first, in its chat's turn, before any other operation. */
  expect(entries: readonly SandboxRow[], settle: (entry: SandboxRow, cancel: Cancel) => Promise<void>): void {
    this.#arrivals.expect(entries, settle);
  }

  /** Adopts a running sandbox with everything that runs in it. */
  async adopt(entry: SandboxRow, cancel: Cancel = {}): Promise<void> {
    const runtime = this.#source.runtime(entry.runtime);
    const held = await this.#attached.take(entry, await runtime.adopt(entry.id, cancel), runtime, cancel);
    // If this fails, the sandbox keeps running without network, and the next caller that opens it gets the error.
    if (!held.paused) await this.#hatches.openFor(entry, held, cancel).catch(() => {});
    if (!held.paused) await this.#tools.attach(held.sandbox, entry, cancel).catch(() => {});
  }

  /** In the chat's turn: ends what runs and keeps the rest. It counts as running until it has ended. */
  async halt(entry: SandboxRow, cause: 'asked' | 'idle' = 'asked'): Promise<void> {
    const held = this.heldOf(entry);
    this.noteActivity();
    try {
      if (held !== undefined) await held.halt();
      else await this.#source.runtime(entry.runtime).halt(entry.id);
      this.unsettled.delete(entry.id);
      if (held !== undefined) this.#events.emit(entry.user, { type: 'sandbox-stop', cause, ...named(entry) });
    } catch (error) {
      this.unsettled.add(entry.id);
      throw error;
    } finally {
      this.#attached.drop(entry.id);
    }
  }

  /** Runs in the chat's turn and removes the sandbox. Once started, it is completed, if needed by a later host. */
  async discard(entry: SandboxRow): Promise<void> {
    const { id, runtime } = entry;
    try {
      this.table.markRemoving(id);
    } catch (error) {
      // Removing must work on a full disk, because it frees space.
      if (!isGeodeError(error, 'disk_full')) throw error;
    }
    await this.#attached.get(id)?.release();
    await this.#source.runtime(runtime).remove(id);
    this.#attached.drop(id);
    this.table.remove(id);
    this.#hatches.forget(id);
    this.#tools.forget(id);
    this.unsettled.delete(id);
    this.#events.emit(entry.user, { type: 'sandbox-remove', ...named(entry) });
  }

  /** In the chats' turns: the sandbox's own record is already changed. */
  rename(entry: SandboxRow, to: string): void {
    this.table.rename(entry.id, to);
    this.#tools.rename(entry.id, to);
    this.#events.emit(entry.user, { type: 'sandbox-rename', from: entry.chat, sandbox: entry.id, chat: to });
  }

  /** In the chat's turn: saves its memory on disk and ends it. The next use continues its processes. */
  async hibernate(entry: SandboxRow, cause: 'asked' | 'idle', cancel: Cancel): Promise<void> {
    this.noteActivity();
    await this.#attached.hibernate(entry.id, cancel);
    this.emit(entry, { type: 'sandbox-hibernate', cause });
  }

  /** Emits an event of one sandbox. */
  emit(entry: Pick<SandboxRow, 'id' | 'user' | 'chat'>, body: SandboxEvent): void {
    this.#events.emit(entry.user, { ...body, ...named(entry) });
  }

  async pause(entry: SandboxRow, cancel: Cancel): Promise<void> {
    const held = this.heldOf(entry);
    if (held === undefined) throw new GeodeError('sandbox_stopped', 'Only a running sandbox can be paused.');
    await held.pause(cancel);
    this.#events.emit(entry.user, { type: 'sandbox-pause', ...named(entry) });
  }

  /** Records the time of the last activity of every running sandbox. On a full disk this can wait. */
  noteActivity(): void {
    try {
      this.table.noteActivity(this.#attached.activity(Date.now()));
    } catch (error) {
      if (!isGeodeError(error, 'disk_full')) throw error;
    }
  }

  /** Ids of sandboxes that may or may not be running. */
  get unsettled(): Set<string> {
    return this.#attached.unsettled;
  }

  /** Whether it runs is unknown or not checked yet. */
  isUnknown({ id }: Pick<SandboxRow, 'id'>): boolean {
    return this.unsettled.has(id) || this.#arrivals.has(id);
  }

  /** An operation on it is running or waiting. */
  isBusy({ user, chat }: Pick<SandboxRow, 'user' | 'chat'>): boolean {
    return this.#turns.has(keyOf(user, chat));
  }

  inTurn<T>(user: string, chat: string, cancel: Cancel, work: () => Promise<T>): Promise<T> {
    return this.inTurns(user, [chat], cancel, work);
  }

  async inTurns<T>(
    user: string,
    chats: readonly string[],
    { signal }: Cancel,
    work: () => Promise<T>,
  ): Promise<T> {
    const keys = chats.map((chat) => keyOf(user, chat));
    const begin = async () => {
      if (this.#closing !== undefined)
        throw new GeodeError('stopping', 'This host is detaching its sandboxes.');
      for (const chat of chats) await this.#arrivals.settle(this.table.find(user, chat), { signal });
      return work();
    };
    const turn = this.#turns.in(keys, begin, { what: 'Waiting for the sandbox', signal });
    this.#working.add(turn);
    return turn.finally(() => this.#working.delete(turn));
  }

  /** Detaches all after their operations have ended. They continue. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    // Refuse callers that wait for a turn; let running operations finish.
    await Promise.resolve();
    this.#arrivals.end();
    const working = within({ ms: closeDeadlineMs, what: 'The last calls' }, () =>
      Promise.allSettled(this.#working),
    );
    await working.catch(() => {});
    try {
      this.noteActivity();
    } finally {
      await this.#attached.release();
    }
  }

  async checkFree(user: string, chat: string): Promise<void> {
    if ((await this.find(user, chat)) === undefined) return;
    throw new GeodeError(
      'sandbox_exists',
      `The sandbox ${JSON.stringify(chat.slice(0, 200))} already exists.`,
    );
  }

  #readStates(entries: readonly SandboxRow[], options: ListOptions): Promise<readonly SandboxStatus[]> {
    return readStates(entries, this.#source.runtimes, (id) => this.#attached.get(id), options);
  }

  /** First finish a removal that was started. */
  async find(user: string, chat: string): Promise<SandboxRow | undefined> {
    const entry = this.table.find(user, chat);
    if (!entry?.removing) return entry;
    await this.discard(entry);
    return undefined;
  }

  async get(user: string, chat: string): Promise<SandboxRow> {
    return (await this.find(user, chat)) ?? notFound(chat);
  }

  /** Without a turn: the state at this moment. */
  look(user: string, chat: string): SandboxRow {
    const entry = this.table.find(checkName(user, 'user'), checkName(chat, 'chat'));
    return entry === undefined || entry.removing ? notFound(chat) : entry;
  }

  async open(entry: SandboxRow, cancel: Cancel): Promise<PersistentSandbox> {
    const { id, user, runtime, spec } = entry;
    const start = async () => {
      const isAsleep = await isHibernated(this.#source.runtime(runtime), id, cancel);
      const sandbox = await starting(entry, () => this.#source.start(id, runtime, spec, cancel));
      const held = await this.#attached.take(entry, sandbox, this.#source.runtime(runtime), cancel);
      if (isAsleep) this.emit(entry, { type: 'sandbox-wake' });
      else this.#events.emit(user, { type: 'sandbox-start', made: false, ...named(entry) });
      return held;
    };
    const held = this.heldOf(entry) ?? (await this.#admission.admit(user, cancel, start));
    if (held.paused) {
      await held.resume(cancel);
      this.#events.emit(user, { type: 'sandbox-resume', ...named(entry) });
    }
    await this.#hatches.openFor(entry, held, cancel);
    await this.#tools.attach(held.sandbox, entry, cancel);
    return handleOf(entry, held);
  }

  /** In the chat's turn: sets its network policy. */
  async setEgress(entry: SandboxRow, spec: EgressSpec, cancel: Cancel): Promise<void> {
    await this.#hatches.change(entry, this.heldOf(entry), spec, cancel);
  }

  /** Reality first: change the sandbox's own record before the ledger. */
  create(
    user: string,
    chat: string,
    { egress = this.egress.initial(user), ...spec }: PersistentSpec,
    cancel: Cancel,
    { claim = () => this.#source.claim(spec, cancel), fill }: NewSandbox = {},
  ): Promise<PersistentSandbox> {
    checkUser(user);
    const labels = checkLabels(spec.labels ?? {});
    checkNetwork(spec, egress);
    return this.#admission.admit(user, cancel, async () => {
      const { runtime, sandbox } = await starting({ user, chat }, claim);
      try {
        throwIfCancelled(cancel.signal, 'Creating the sandbox');
        await fill?.(sandbox.id);
        if (egress !== undefined) this.egress.remember(sandbox.id, egress);
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
        const held = this.#attached.hold(entry, sandbox, runtime);
        // A copy of a running sandbox has processes to follow.
        if (sandbox.isCopy) await held.resume(cancel);
        await this.#hatches.openFor(entry, held, cancel);
        this.table.add(entry);
        this.#attached.put(held);
        this.#events.emit(user, { type: 'sandbox-start', made: true, ...named(entry) });
        return handleOf({ ...entry, keptUntil: 0, thinkingUntil: 0, removing: false }, held);
      } catch (error) {
        if (egress !== undefined) this.egress.remember(sandbox.id, undefined);
        await sandbox.stop().catch(() => {});
        throw error;
      }
    });
  }
}

function named({ id, chat }: Pick<SandboxRow, 'id' | 'chat'>) {
  return { sandbox: id, chat };
}

function notFound(chat: string): never {
  throw new GeodeError('sandbox_not_found', `There is no sandbox of ${JSON.stringify(chat.slice(0, 200))}.`);
}
