import { chatKey } from '../base/identity.ts';
import { type Log, noLog } from '../base/log.ts';
import type { PermissionClass } from '../seams/agent.ts';
import type { Approvals } from '../seams/approval.ts';
import { type EventSink, noEvents } from '../seams/events.ts';
import type { PersistentSandbox, Sandboxes } from '../seams/persistent.ts';
import type { Tapes } from '../seams/tapes.ts';
import type { Telemetry } from '../seams/telemetry.ts';
import type { ConversationRow, ConversationTable } from './conversation-table.ts';
import type { AgentDriver, TurnStop } from './driver.ts';
import type { EventFeed } from './event-feed.ts';
import type { CallTable } from './replay/call-table.ts';
import { TurnRecorder } from './replay/tape-of-turn.ts';
import { runTurn } from './run-turn.ts';
import { inTurnSpan } from './turn-spans.ts';
import type { TurnRow, TurnTable } from './turn-table.ts';

export interface TurnOptions {
  readonly sandboxes: Sandboxes;
  readonly approvals: Approvals;
  readonly turnTimeoutMs: number;
  /** Timeout of unattended turns. */
  readonly unattendedTimeoutMs: number;
  /** Events to keep per conversation; older ones are deleted. */
  readonly keepEvents: number;
  /** Where the calls of a turn are recorded for a replay. */
  readonly calls: CallTable;
  readonly tapes: Tapes;
  /** Actions that agents may do without asking. */
  readonly allow: readonly PermissionClass[];
  /** Values that events must not show. */
  readonly secrets?: readonly string[];
  readonly events?: EventSink;
  readonly log?: Log;
  readonly telemetry?: Telemetry | undefined;
}

interface TurnPlace {
  readonly driver: AgentDriver;
  readonly conversation: ConversationRow;
  readonly row: TurnRow;
  readonly sandbox: PersistentSandbox;
}

interface RunningTurn {
  readonly id: string;
  readonly conversation: number;
  /** The turn accepts messages while it runs. */
  readonly listens: boolean;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/** The turns that this host runs, at most one per chat. */
export class RunningTurns {
  readonly #options: TurnOptions;
  readonly #conversations: ConversationTable;
  readonly #turns: TurnTable;
  readonly #feed: EventFeed;
  readonly #log: Log;
  readonly #running = new Map<string, RunningTurn>();

  constructor(options: TurnOptions, conversations: ConversationTable, turns: TurnTable, feed: EventFeed) {
    this.#options = options;
    this.#conversations = conversations;
    this.#turns = turns;
    this.#feed = feed;
    this.#log = options.log ?? noLog;
  }

  has(user: string, chat: string): boolean {
    return this.#running.has(chatKey(user, chat));
  }

  /** Waits for the end of a turn, if one runs. */
  async ended(user: string, chat: string): Promise<void> {
    await this.#running.get(chatKey(user, chat))?.ended;
  }

  /** The turn that receives messages now. */
  listening(user: string, chat: string): Pick<RunningTurn, 'id' | 'conversation'> | undefined {
    const turn = this.#running.get(chatKey(user, chat));
    return turn?.listens && !turn.stop.signal.aborted ? turn : undefined;
  }

  launch(place: TurnPlace): void {
    const { user, chat } = place.conversation;
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort('timeout' satisfies TurnStop), this.#timeoutMs(place.row));
    const key = chatKey(user, chat);
    const ended = this.#run(place, stop.signal)
      .catch((error) => this.#log.error({ err: error, chat }, 'a turn of an agent broke off'))
      .finally(() => {
        clearTimeout(timer);
        this.#running.delete(key);
        this.#feed.notify(place.conversation.id);
      });
    const { driver, conversation, row } = place;
    const turn = { id: row.id, conversation: conversation.id, listens: driver.listens === true };
    this.#running.set(key, { ...turn, stop, ended });
  }

  /** Resolves when every process of the turn has ended. Returns false if no turn runs. */
  async interrupt(user: string, chat: string): Promise<boolean> {
    const turn = this.#running.get(chatKey(user, chat));
    if (turn === undefined) return false;
    turn.stop.abort('interrupt' satisfies TurnStop);
    await turn.ended;
    return true;
  }

  /** Leaves them to the next host. */
  async leave(): Promise<void> {
    for (const { stop } of this.#running.values()) stop.abort('host-ends' satisfies TurnStop);
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }

  async #run(place: TurnPlace, signal: AbortSignal): Promise<void> {
    const { driver, conversation, row } = place;
    const { user, chat } = conversation;
    const { events = noEvents, approvals, keepEvents, allow, secrets = [], calls, tapes } = this.#options;
    const recorder = new TurnRecorder(calls, row.id, this.#log);
    using _tape = tapes.insert(user, chat, recorder.tape);
    const parts = {
      recorder,
      ...{ approvals, keepEvents, allow, secrets, log: this.#log },
      conversations: this.#conversations,
      turns: this.#turns,
      notifyReaders: () => this.#feed.notify(conversation.id),
    };
    events.emit(user, { type: 'turn-start', chat, turn: row.id, driver: driver.name });
    this.#feed.notify(conversation.id);
    await this.#thinking(conversation, Date.now() + this.#timeoutMs(row));
    const last = await inTurnSpan(this.#options.telemetry, place, () => runTurn(parts, { ...place, signal }));
    if (last === undefined) return;
    const outcome = last.type === 'result' ? last.outcome : 'error';
    events.emit(user, { type: 'turn-end', chat, turn: row.id, driver: driver.name, outcome });
    await this.#thinking(conversation, 0);
  }

  #timeoutMs({ unattended }: TurnRow): number {
    const { turnTimeoutMs, unattendedTimeoutMs } = this.#options;
    return unattended ? unattendedTimeoutMs : turnTimeoutMs;
  }

  /** Protects the sandbox from an idle stop. A removed sandbox needs no protection. */
  async #thinking({ user, chat }: ConversationRow, until: number): Promise<void> {
    await this.#options.sandboxes
      .of(user)
      .thinkingUntil(chat, until)
      .catch(() => {});
  }
}
