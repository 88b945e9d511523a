import { EventEmitter, once } from 'node:events';
import type {
  AgentConversation,
  AgentEvent,
  AgentMessage,
  Agents,
  DriverName,
  PermissionAnswer,
  SendOptions,
  UserAgents,
} from '../core/agent.ts';
import type { Approvals } from '../core/approval.ts';
import { type Cancel, throwIfCancelled } from '../core/cancel.ts';
import { GeodeError } from '../core/errors.ts';
import { type EventSink, noEvents } from '../core/events.ts';
import { type Log, noLog } from '../core/log.ts';
import type { PersistentSandbox, Sandboxes } from '../core/persistent.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { AgentTable, type ConversationRow, type TurnRow } from './agent-table.ts';
import { decisionOf } from './ask-person.ts';
import type { AgentDriver, TurnStop } from './driver.ts';
import { type CheckedMessage, checkMessage, writeAttachments } from './messages.ts';
import { runTurn } from './run-turn.ts';
import { Steers } from './steers.ts';
import { transcriptOf } from './transcript.ts';

export interface AgentsOptions {
  readonly ledger: Ledger;
  readonly sandboxes: Sandboxes;
  readonly drivers: readonly AgentDriver[];
  /** For conversations that name none. */
  readonly driver: DriverName;
  readonly turnTimeoutMs: number;
  readonly approvals: Approvals;
  /** Of one conversation; older ones go. */
  readonly keepEvents: number;
  /** Values that no event may show. */
  readonly secrets?: readonly string[];
  readonly events?: EventSink;
  readonly log?: Log;
}

/** A turn that several hosts in a row did not survive is not tried by another. */
const mostStarts = 5;
const pageSize = 256;

interface RunningTurn {
  readonly id: string;
  readonly conversation: number;
  /** It hears what is said while it runs. */
  readonly listens: boolean;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/** Goes on with the turns that another host left open. */
export function openAgents(options: AgentsOptions): Agents {
  const agents = new HostedAgents(options);
  agents.resumeAll();
  return agents;
}

class HostedAgents implements Agents {
  readonly #options: AgentsOptions;
  readonly #table: AgentTable;
  readonly #steers: Steers;
  readonly #log: Log;
  readonly #news = new EventEmitter().setMaxListeners(0);
  readonly #running = new Map<string, RunningTurn>();
  /** Chats whose turn is about to begin. */
  readonly #starting = new Map<string, Promise<unknown>>();
  readonly #ending = new AbortController();

  constructor(options: AgentsOptions) {
    this.#options = options;
    this.#table = new AgentTable(options.ledger);
    this.#steers = new Steers(options.ledger);
    this.#log = options.log ?? noLog;
  }

  of(user: string): UserAgents {
    return {
      send: (chat, message, options) => this.#send(user, chat, message, options),
      events: (chat, options) => this.#events(user, chat, options),
      interrupt: (chat, options) => this.#interrupt(user, chat, options),
      answer: async (chat, id, answer, by) => this.#answer(user, chat, id, answer, by),
      steer: (chat, message) => this.#steer(user, chat, message),
      steered: (chat, mark) => {
        const conversation = this.#table.find(user, chat);
        return conversation !== undefined && this.#steers.isTaken(conversation.id, mark);
      },
      transcript: (chat) => transcriptOf(this.#options.ledger, user, chat),
      stop: (chat, options) => this.#stop(user, chat, options),
      list: () => this.#table.list(user).map(shown),
      get: (chat) => shown(this.#table.get(user, chat)),
    };
  }

  resumeAll(): void {
    for (const { user, chat, id, driver, state } of this.#table.left())
      this.#find(driver)?.adopt?.(id, state, this.#options.sandboxes.of(user), chat);
    for (const { user, chat, turn } of this.#table.open()) {
      const work = this.#resume(user, chat, turn).catch((error) => {
        this.#log.error({ err: error, chat }, 'a turn of an agent could not be resumed');
      });
      this.#reserve(user, chat, work);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await Promise.allSettled(this.#starting.values());
    for (const { stop } of this.#running.values()) stop.abort('host-ends' satisfies TurnStop);
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
    for (const driver of this.#options.drivers) driver[Symbol.dispose]?.();
  }

  async *#send(
    user: string,
    chat: string,
    given: AgentMessage,
    options: SendOptions = {},
  ): AsyncGenerator<AgentEvent> {
    throwIfCancelled(options.signal, 'The message');
    const message = checkMessage(given);
    const { conversation, turn, firstSeq } =
      this.#earlier(user, chat, message) ?? (await this.#begin(user, chat, message, options));
    for await (const event of this.#follow(conversation, firstSeq - 1, options.signal)) {
      if (event.turn !== turn) continue;
      yield event;
      if (event.type === 'result' || event.type === 'error') return;
    }
  }

  /** The turn of a message that was sent before. */
  #earlier(user: string, chat: string, { mark }: CheckedMessage): Begun | undefined {
    const conversation = mark === null ? undefined : this.#table.find(user, chat);
    if (conversation === undefined || mark === null) return undefined;
    const found = this.#table.marked(conversation.id, mark);
    return found && { conversation: conversation.id, turn: found.id, firstSeq: found.firstSeq };
  }

  async #begin(user: string, chat: string, message: CheckedMessage, options: SendOptions): Promise<Begun> {
    const key = keyOf(user, chat);
    // A turn whose last event is kept has only to be let go of.
    if (this.#table.find(user, chat)?.state === 'idle') await this.#running.get(key)?.ended;
    const known = this.#table.find(user, chat);
    if (this.#running.has(key) || this.#starting.has(key) || known?.state === 'running')
      throw new GeodeError('agent_busy', `A turn of the chat ${JSON.stringify(chat)} is running.`);
    const work = this.#prepare(user, chat, known, message, options);
    this.#reserve(user, chat, work);
    return await work;
  }

  #reserve(user: string, chat: string, work: Promise<unknown>): void {
    const key = keyOf(user, chat);
    const settled = work.then(
      () => {},
      () => {},
    );
    this.#starting.set(key, settled);
    void settled.then(() => this.#starting.delete(key));
  }

  /** Everything that can be refused is done before the turn is on record. */
  async #prepare(
    user: string,
    chat: string,
    known: ConversationRow | undefined,
    { text, mark, attachments }: CheckedMessage,
    { driver: wanted, model, audience, signal }: SendOptions,
  ): Promise<Begun> {
    const name = known?.driver ?? wanted ?? this.#options.driver;
    refuseMismatch(known, wanted, model);
    const driver = this.#driver(name);
    driver.check(known === undefined ? (model ?? null) : known.model);
    const stop = AbortSignal.any([this.#ending.signal, ...(signal === undefined ? [] : [signal])]);
    const sandbox = await driver.open(this.#options.sandboxes.of(user), chat, stop);
    const paths = await writeAttachments(sandbox.files, attachments, stop);
    const snapshot = await this.#mark(sandbox);
    throwIfCancelled(stop, 'The message');
    const begun = known ?? this.#table.begin(user, chat, name, model ?? null);
    if (audience === 'group') this.#table.openToGroup(begun.id);
    const conversation = audience === 'group' ? { ...begun, audience } : begun;
    const { row, firstSeq } = this.#table.beginTurn(conversation, {
      message: text,
      mark,
      attachments: paths,
      snapshot,
    });
    this.#launch(driver, conversation, row, sandbox);
    return { conversation: conversation.id, turn: row.id, firstSeq };
  }

  async #resume(user: string, chat: string, turn: TurnRow): Promise<void> {
    const conversation = this.#table.get(user, chat);
    try {
      if (turn.starts >= mostStarts)
        throw new GeodeError('agent_failed', `${turn.starts} hosts ended during this turn; it is given up.`);
      const driver = this.#driver(conversation.driver);
      const sandbox = await driver.open(this.#options.sandboxes.of(user), chat, this.#ending.signal);
      const row = this.#table.resumeTurn(turn);
      this.#tellReaders(conversation.id);
      this.#launch(driver, conversation, row, sandbox);
    } catch (error) {
      if (this.#ending.signal.aborted) return;
      const { code, message, hint } =
        error instanceof GeodeError ? error : new GeodeError('internal', String(error), { cause: error });
      this.#table.endTurn(turn, [{ type: 'error', code, message, hint }], this.#options.keepEvents);
      this.#tellReaders(conversation.id);
    }
  }

  #launch(
    driver: AgentDriver,
    conversation: ConversationRow,
    row: TurnRow,
    sandbox: PersistentSandbox,
  ): void {
    const { user, chat } = conversation;
    const { events = noEvents, turnTimeoutMs, keepEvents, secrets = [] } = this.#options;
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort('timeout' satisfies TurnStop), turnTimeoutMs);
    const thinking = (until: number) =>
      this.#options.sandboxes
        .of(user)
        .thinkingUntil(chat, until)
        .catch(() => {}); // One that is gone needs no keeping.
    const parts = {
      table: this.#table,
      approvals: this.#options.approvals,
      log: this.#log,
      secrets,
      keepEvents,
      tellReaders: () => this.#tellReaders(conversation.id),
    };
    const run = async () => {
      events.tell(user, { type: 'turn-start', chat, turn: row.id, driver: driver.name });
      this.#tellReaders(conversation.id);
      await thinking(Date.now() + turnTimeoutMs);
      const last = await runTurn(parts, { driver, conversation, row, sandbox, signal: stop.signal });
      clearTimeout(timer);
      if (last === undefined) return;
      const outcome = last.type === 'result' ? last.outcome : 'error';
      events.tell(user, { type: 'turn-end', chat, turn: row.id, driver: driver.name, outcome });
      await thinking(0);
    };
    const key = keyOf(user, chat);
    const ended = run()
      .catch((error) => this.#log.error({ err: error, chat }, 'a turn of an agent broke off'))
      .finally(() => {
        clearTimeout(timer);
        this.#running.delete(key);
        this.#tellReaders(conversation.id);
      });
    const listens = driver.listens === true;
    this.#running.set(key, { id: row.id, conversation: conversation.id, listens, stop, ended });
  }

  async *#events(
    user: string,
    chat: string,
    {
      after = 0,
      follow = false,
      signal,
    }: { readonly after?: number | undefined; readonly follow?: boolean | undefined } & Cancel = {},
  ): AsyncGenerator<AgentEvent> {
    throwIfCancelled(signal, 'Reading the events');
    const { id } = this.#table.get(user, chat);
    if (follow) {
      yield* this.#follow(id, after, signal);
      return;
    }
    for (let seq = after; ; ) {
      const page = this.#table.events(id, seq, pageSize);
      yield* page;
      if (page.length < pageSize) return;
      seq = page.at(-1)?.seq ?? seq;
    }
  }

  /** Ends with `stopping` when the host does, and with `cancelled` on the signal. */
  async *#follow(
    conversation: number,
    after: number,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<AgentEvent> {
    let seq = after;
    const stop = AbortSignal.any([this.#ending.signal, ...(signal === undefined ? [] : [signal])]);
    for (;;) {
      throwIfCancelled(signal, 'Reading the events');
      if (this.#ending.signal.aborted)
        throw new GeodeError('stopping', 'The host ends; the turn goes on with the next one.');
      const page = this.#table.events(conversation, seq, pageSize);
      for (const event of page) {
        seq = event.seq;
        yield event;
      }
      if (page.length > 0) continue;
      if (!this.#table.has(conversation)) return;
      // Nothing comes between the look and the wait: both are in one breath.
      await once(this.#news, String(conversation), { signal: stop }).catch(() => {});
    }
  }

  async #interrupt(user: string, chat: string, { signal }: Cancel = {}): Promise<boolean> {
    throwIfCancelled(signal, 'The interrupt');
    this.#table.get(user, chat);
    const turn = this.#running.get(keyOf(user, chat));
    if (turn === undefined) return false;
    turn.stop.abort('interrupt' satisfies TurnStop);
    await turn.ended;
    return true;
  }

  #steer(user: string, chat: string, message: { readonly text: string; readonly mark: string }): boolean {
    const turn = this.#running.get(keyOf(user, chat));
    if (turn === undefined || !turn.listens || turn.stop.signal.aborted) return false;
    this.#steers.add(turn.conversation, turn.id, message);
    return true;
  }

  #answer(user: string, chat: string, id: string, answer: PermissionAnswer, by: string): void {
    this.#table.get(user, chat);
    const { approvals } = this.#options;
    if (approvals.get(user, id).chat !== chat)
      throw new GeodeError('approval_not_found', `There is no approval ${id} in this chat.`);
    approvals.decide(user, id, { decision: decisionOf(answer), by });
  }

  async #stop(user: string, chat: string, { signal }: Cancel = {}): Promise<boolean> {
    throwIfCancelled(signal, 'The stop');
    const conversation = this.#table.find(user, chat);
    if (conversation === undefined) return false;
    await this.#starting.get(keyOf(user, chat));
    await this.#interrupt(user, chat);
    const driver = this.#driver(conversation.driver);
    await driver.stop?.(this.#table.state(conversation.id), this.#options.sandboxes.of(user), chat);
    this.#table.remove(conversation.id);
    this.#tellReaders(conversation.id);
    return true;
  }

  /** Null where a workspace cannot be marked: then nothing is said of its files. */
  async #mark({ snapshots, chat }: PersistentSandbox): Promise<string | null> {
    try {
      return (await snapshots?.mark())?.name ?? null;
    } catch (error) {
      this.#log.warn({ err: error, chat }, 'no undo point before the turn of an agent');
      return null;
    }
  }

  #tellReaders(conversation: number): void {
    this.#news.emit(String(conversation));
  }

  #find(name: DriverName): AgentDriver | undefined {
    return this.#options.drivers.find((each) => each.name === name);
  }

  #driver(name: DriverName): AgentDriver {
    const driver = this.#find(name);
    if (driver !== undefined) return driver;
    const known = this.#options.drivers.map((each) => each.name).join(', ');
    throw new GeodeError('agent_unavailable', `This host has no driver ${name}; it has: ${known}.`);
  }
}

interface Begun {
  readonly conversation: number;
  readonly turn: string;
  readonly firstSeq: number;
}

function refuseMismatch(
  known: ConversationRow | undefined,
  driver: DriverName | undefined,
  model: string | undefined,
): void {
  if (known === undefined) return;
  const chat = JSON.stringify(known.chat);
  if (driver !== undefined && driver !== known.driver)
    throw new GeodeError('agent_mismatch', `The chat ${chat} is held by ${known.driver}, not by ${driver}.`);
  if (model !== undefined && model !== known.model)
    throw new GeodeError(
      'agent_mismatch',
      `The chat ${chat} has the model ${known.model ?? 'of the config'}.`,
    );
}

/** No name can be taken for another pair. */
function keyOf(user: string, chat: string): string {
  return JSON.stringify([user, chat]);
}

function shown({ id: _, user: __, audience: ___, ...conversation }: ConversationRow): AgentConversation {
  return conversation;
}
