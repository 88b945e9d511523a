import { type Cancel, throwIfCancelled } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import { type Log, noLog } from '../base/log.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type {
  AgentConversation,
  AgentEvent,
  AgentMessage,
  Agents,
  AgentTerminal,
  DriverName,
  ForkConversation,
  PermissionAnswer,
  SendOptions,
  TerminalOptions,
  UserAgents,
} from '../seams/agent.ts';
import { decisionOf } from './ask-person.ts';
import { busy, usedAtTerminal } from './busy.ts';
import { type ConversationRow, ConversationTable, refuseMismatch, shown } from './conversation-table.ts';
import type { AgentDriver } from './driver.ts';
import { EventFeed, type ReadOptions } from './event-feed.ts';
import { forkConversation, refuseTaken } from './fork-conversation.ts';
import { markTurn } from './mark-turn.ts';
import { type CheckedMessage, checkMessage, writeAttachments } from './messages.ts';
import { ResumedTurns } from './resumed-turns.ts';
import { RunningTurns, type TurnOptions } from './running-turns.ts';
import { StartingChats } from './starting-chats.ts';
import { Steers } from './steers.ts';
import { transcriptOf } from './transcript.ts';
import { TurnTable } from './turn-table.ts';

export interface AgentsOptions extends TurnOptions {
  readonly ledger: Ledger;
  readonly drivers: readonly AgentDriver[];
  /** For conversations without a choice of their own. */
  readonly driver: DriverName;
}

/** Continues turns that another host left open. */
export function openAgents(options: AgentsOptions): Agents {
  const agents = new HostedAgents(options);
  agents.resumeAll();
  return agents;
}

class HostedAgents implements Agents {
  readonly #options: AgentsOptions;
  readonly #conversations: ConversationTable;
  readonly #turns: TurnTable;
  readonly #feed: EventFeed;
  readonly #running: RunningTurns;
  readonly #resumed: ResumedTurns;
  readonly #steers: Steers;
  readonly #log: Log;
  readonly #starting = new StartingChats();
  readonly #ending = new AbortController();

  constructor(options: AgentsOptions) {
    this.#options = options;
    this.#conversations = new ConversationTable(options.ledger);
    this.#turns = new TurnTable(options.ledger);
    this.#feed = new EventFeed(this.#conversations, this.#turns, this.#ending.signal);
    this.#running = new RunningTurns(options, this.#conversations, this.#turns, this.#feed);
    this.#resumed = new ResumedTurns({
      conversations: this.#conversations,
      turns: this.#turns,
      feed: this.#feed,
      running: this.#running,
      sandboxes: options.sandboxes,
      driver: (name) => this.#driver(name),
      keepEvents: options.keepEvents,
      ending: this.#ending.signal,
    });
    this.#steers = new Steers(options.ledger);
    this.#log = options.log ?? noLog;
  }

  get drivers(): readonly DriverName[] {
    return this.#options.drivers.map(({ name }) => name);
  }

  of(user: string): UserAgents {
    return {
      send: (chat, message, options) => this.#send(user, chat, message, options),
      open: (chat, options) => this.#alone(user, chat, (known) => this.#open(user, chat, known, options)),
      terminal: (chat, options) =>
        this.#alone(user, chat, (known) => this.#terminal(user, chat, known, options)),
      events: (chat, options) => this.#events(user, chat, options),
      interrupt: (chat, options) => this.#interrupt(user, chat, options),
      answer: async (chat, id, answer, by) => this.#answer(user, chat, id, answer, by),
      steer: (chat, message) => this.#steer(user, chat, message),
      hasTurn: (chat, mark) => this.#earlier(user, chat, mark) !== undefined,
      steered: (chat, mark) => {
        const conversation = this.#conversations.find(user, chat);
        return conversation !== undefined && this.#steers.isTaken(conversation.id, mark);
      },
      transcript: (chat) => transcriptOf(this.#options.ledger, user, chat),
      stop: (chat, options) => this.#stop(user, chat, options),
      fork: (chat, to, options) => this.#fork(user, chat, to, options),
      list: () => this.#conversations.list(user).map(shown),
      get: (chat) => shown(this.#conversations.get(user, chat)),
    };
  }

  resumeAll(): void {
    for (const { user, chat, id, driver, state } of this.#conversations.left())
      this.#find(driver)?.adopt?.(id, state, this.#options.sandboxes.of(user), chat);
    for (const { user, chat, turn } of this.#turns.open()) {
      const work = this.#resumed.resume(user, chat, turn).catch((error) => {
        this.#log.error({ err: error, chat }, 'a turn of an agent could not be resumed');
      });
      this.#starting.reserve(user, chat, work);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#starting.allSettled();
    await this.#running.leave();
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
      this.#earlier(user, chat, message.mark) ?? (await this.#begin(user, chat, message, options));
    for await (const event of this.#feed.follow(conversation, firstSeq - 1, options.signal)) {
      if (event.turn !== turn) continue;
      yield event;
      if (event.type === 'result' || event.type === 'error') return;
    }
  }

  /** The turn of a message that was sent earlier. */
  #earlier(user: string, chat: string, mark: string | null): Begun | undefined {
    const conversation = mark === null ? undefined : this.#conversations.find(user, chat);
    if (conversation === undefined || mark === null) return undefined;
    const found = this.#turns.marked(conversation.id, mark);
    return found && { conversation: conversation.id, turn: found.id, firstSeq: found.firstSeq };
  }

  async #begin(user: string, chat: string, message: CheckedMessage, options: SendOptions): Promise<Begun> {
    const known = await this.#idle(user, chat);
    if (this.#starting.has(user, chat)) throw busy(chat);
    const work = this.#prepare(user, chat, known, message, options);
    this.#starting.reserve(user, chat, work);
    return await work;
  }

  /** The conversation, if any; throws while one of its turns runs. */
  async #idle(user: string, chat: string): Promise<ConversationRow | undefined> {
    // If the last event of a turn is stored, only its driver has to let go.
    if (this.#conversations.find(user, chat)?.state === 'idle') await this.#running.ended(user, chat);
    const known = this.#conversations.find(user, chat);
    if (this.#running.has(user, chat) || known?.state === 'running') throw busy(chat);
    return known;
  }

  /** Concurrent callers get their turns one after another. */
  async #alone<T>(
    user: string,
    chat: string,
    work: (known: ConversationRow | undefined) => Promise<T>,
  ): Promise<T> {
    return await this.#starting.alone(user, chat, async () => await work(await this.#idle(user, chat)));
  }

  async #open(
    user: string,
    chat: string,
    known: ConversationRow | undefined,
    options: SendOptions = {},
  ): Promise<AgentConversation> {
    const { name } = await this.#place(user, chat, known, options);
    return shown(known ?? this.#conversations.begin(user, chat, name, options.model ?? null));
  }

  async #terminal(
    user: string,
    chat: string,
    known: ConversationRow | undefined,
    { size, ...options }: TerminalOptions,
  ): Promise<AgentTerminal> {
    const { name, driver, sandbox, stop } = await this.#place(user, chat, known, options);
    const { terminal } = driver;
    if (terminal === undefined)
      throw new GeodeError('invalid_input', `The agent ${name} has no screen of its own.`, {
        hint: 'geode claude has one; geode agent -m "…" sends a message to any agent.',
      });
    const running = known && (await terminal.find(this.#conversations.state(known.id), sandbox));
    if (running !== undefined) return { process: running, isNew: false };
    await markTurn(sandbox, this.#log);
    throwIfCancelled(stop, 'The terminal');
    const { id, model, audience } =
      known ?? this.#conversations.begin(user, chat, name, options.model ?? null);
    const process = await terminal.start({
      ...{ sandbox, model, audience, size, conversation: id, signal: stop },
      state: this.#conversations.state(id),
      keep: (state) => this.#conversations.keep(id, state),
    });
    return { process, isNew: true };
  }

  /** The driver and the sandbox of an existing or new conversation. */
  async #place(
    user: string,
    chat: string,
    known: ConversationRow | undefined,
    { driver: wanted, model, signal }: SendOptions,
  ) {
    const name = known?.driver ?? wanted ?? this.#options.driver;
    refuseMismatch(known, wanted, model);
    const driver = this.#driver(name);
    const chosen = known === undefined ? (model ?? null) : known.model;
    driver.check(chosen);
    const stop = AbortSignal.any([this.#ending.signal, ...(signal === undefined ? [] : [signal])]);
    const sandbox = await driver.open(this.#options.sandboxes.of(user), chat, stop, chosen);
    return { name, driver, sandbox, stop };
  }

  /** Everything that can be refused is checked before the turn is stored. */
  async #prepare(
    user: string,
    chat: string,
    known: ConversationRow | undefined,
    { text, mark, attachments, unattended }: CheckedMessage,
    options: SendOptions,
  ): Promise<Begun> {
    const { model, audience } = options;
    const { name, driver, sandbox, stop } = await this.#place(user, chat, known, options);
    if (known && (await driver.terminal?.find(this.#conversations.state(known.id), sandbox)))
      throw usedAtTerminal(chat);
    const paths = await writeAttachments(sandbox.files, attachments, stop);
    const snapshot = await markTurn(sandbox, this.#log);
    throwIfCancelled(stop, 'The message');
    const begun = known ?? this.#conversations.begin(user, chat, name, model ?? null);
    if (audience === 'group') this.#conversations.openToGroup(begun.id);
    const conversation = audience === 'group' ? { ...begun, audience } : begun;
    const { row, firstSeq } = this.#turns.beginTurn(conversation, {
      message: text,
      mark,
      attachments: paths,
      unattended,
      snapshot,
    });
    this.#running.launch({ driver, conversation, row, sandbox });
    return { conversation: conversation.id, turn: row.id, firstSeq };
  }

  async *#events(user: string, chat: string, options: ReadOptions = {}): AsyncGenerator<AgentEvent> {
    yield* this.#feed.read(this.#conversations.get(user, chat).id, options);
  }

  async #interrupt(user: string, chat: string, { signal }: Cancel = {}): Promise<boolean> {
    throwIfCancelled(signal, 'The interrupt');
    const { state } = this.#conversations.get(user, chat);
    const isPaused = this.#resumed.stop(user, chat);
    // A turn that this host is about to resume runs only afterwards.
    if (state === 'running' && !this.#running.has(user, chat)) await this.#starting.settled(user, chat);
    return (await this.#running.interrupt(user, chat)) || isPaused;
  }

  #steer(user: string, chat: string, message: { readonly text: string; readonly mark: string }): boolean {
    const turn = this.#running.listening(user, chat);
    if (turn === undefined) return false;
    this.#steers.add(turn.conversation, turn.id, message);
    return true;
  }

  #answer(user: string, chat: string, id: string, answer: PermissionAnswer, by: string): void {
    this.#conversations.get(user, chat);
    const { approvals } = this.#options;
    if (approvals.get(user, id).chat !== chat)
      throw new GeodeError('approval_not_found', `There is no approval ${id} in this chat.`);
    approvals.decide(user, id, { decision: decisionOf(answer), by });
  }

  /** The past of a conversation does not change while a turn runs; its present does. */
  async #fork(
    user: string,
    chat: string,
    to: string,
    { before, signal }: ForkConversation = {},
  ): Promise<AgentConversation> {
    throwIfCancelled(signal, 'The fork');
    const conversations = this.#conversations;
    conversations.get(user, chat);
    refuseTaken(conversations, user, to);
    const copy = async () => {
      const source = conversations.get(user, chat);
      const { ledger, sandboxes } = this.#options;
      const parts = {
        ledger,
        driver: this.#driver(source.driver),
        conversations,
        sandboxes: sandboxes.of(user),
      };
      return shown(await forkConversation(parts, { source, to, before, signal }));
    };
    // In the order of their names: two forks never wait for each other.
    const [first = to, second] = before === undefined ? [chat, to].toSorted() : [to];
    const rest = second === undefined ? copy : () => this.#alone(user, second, copy);
    return await this.#alone(user, first, rest);
  }

  async #stop(user: string, chat: string, { signal }: Cancel = {}): Promise<boolean> {
    throwIfCancelled(signal, 'The stop');
    const conversation = this.#conversations.find(user, chat);
    if (conversation === undefined) return false;
    this.#resumed.stop(user, chat);
    await this.#starting.settled(user, chat);
    await this.#interrupt(user, chat);
    const driver = this.#driver(conversation.driver);
    await driver.stop?.(this.#conversations.state(conversation.id), this.#options.sandboxes.of(user), chat);
    this.#conversations.remove(conversation.id);
    this.#feed.notify(conversation.id);
    return true;
  }

  #find(name: DriverName): AgentDriver | undefined {
    return this.#options.drivers.find((each) => each.name === name);
  }

  #driver(name: DriverName): AgentDriver {
    const driver = this.#find(name);
    if (driver !== undefined) return driver;
    const known = this.drivers.join(', ');
    throw new GeodeError('agent_unavailable', `This host has no driver ${name}. Available: ${known}.`);
  }
}

interface Begun {
  readonly conversation: number;
  readonly turn: string;
  readonly firstSeq: number;
}
