import { randomInt } from 'node:crypto';
import { GeodeError, reasonOf } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Bus } from '../seams/bus.ts';
import type { CatchUp, ChatSchedule, NewSchedule } from '../seams/chat.ts';
import type { EventSink } from '../seams/events.ts';
import { ChatAudit } from './audit.ts';
import type { NewMessageBody } from './bodies.ts';
import { type KnownChat, webChannel } from './chat-table.ts';
import { commandIn } from './commands.ts';
import { nextRun, parseScheduleTime, type ScheduleTime } from './schedule-time.ts';

export interface SchedulesOptions {
  readonly ledger: Ledger;
  readonly bus: Bus;
  readonly events: EventSink;
  readonly log: Log;
  /** Time zone of cron text that names none. */
  readonly zone: string;
  readonly now?: () => number;
}

const lookEveryMs = 1_000;
const mostOfChat = 50;
/** A run that is later than this counts as missed. */
const missedAfterMs = 60_000;

/**
 * Scheduled messages. The due time is part of the message's key, so each time counts once, however often the host is
 * killed in between. For times that passed while no host ran, one message is sent or none, as the schedule specifies.
 */
export class Schedules implements Disposable {
  readonly #options: SchedulesOptions;
  readonly #now: () => number;
  readonly #audit: ChatAudit;
  readonly #timer: NodeJS.Timeout;

  constructor(options: SchedulesOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#audit = new ChatAudit(options.ledger);
    this.#timer = setInterval(() => {
      this.runDue().catch((err) => options.log.error({ err }, `Schedules do not run: ${reasonOf(err)}`));
    }, lookEveryMs);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  /** Throws `invalid_input` for an invalid time, `too_many_schedules` if the chat has too many. */
  add(
    chat: KnownChat,
    { when, text, catchUp = 'once' }: NewSchedule,
    by: string,
    most = mostOfChat,
  ): ChatSchedule {
    const now = this.#now();
    if (text.trim() === '' || commandIn(text) !== undefined)
      throw new GeodeError('invalid_input', 'A schedule sends a text to the agent, not a command.');
    const time = parseScheduleTime(when, this.#options.zone, now);
    const next = nextRun(time, now);
    if (next === undefined) throw new GeodeError('invalid_input', `${JSON.stringify(when)}: it never runs.`);
    const there = this.list(chat).length;
    if (there >= Math.min(most, mostOfChat))
      throw new GeodeError('too_many_schedules', `The chat ${chat.name} already has ${there} schedules.`);
    const id = randomInt(36 ** 4)
      .toString(36)
      .padStart(4, '0');
    const { user, name } = chat;
    this.#options.ledger.write((sql) => {
      sql.run`INSERT INTO chat_schedules
        VALUES (${id}, ${chat.lane}, ${user}, ${chat.channel}, ${chat.address}, ${when}, ${JSON.stringify(time)},
          ${text}, ${next}, ${now}, ${catchUp})`;
      this.#audit.note(sql, {
        at: now,
        by,
        deed: 'schedule-add',
        detail: { schedule: id, user, chat: name, when },
      });
    });
    this.#options.events.emit(user, { type: 'schedule-add', schedule: id, chat: name });
    return { id, chat: chat.name, when, text, catchUp, next };
  }

  list({ lane }: Pick<KnownChat, 'lane'>): readonly ChatSchedule[] {
    return this.#options.ledger
      .read(
        (sql) => sql.all`SELECT s.*, c.name AS chat FROM chat_schedules s JOIN chats c ON c.lane = s.lane
          WHERE s.lane = ${lane} ORDER BY next`,
      )
      .map(scheduleOf);
  }

  listOf(user: string): readonly ChatSchedule[] {
    return this.#options.ledger
      .read(
        (sql) => sql.all`SELECT s.*, c.name AS chat FROM chat_schedules s JOIN chats c ON c.lane = s.lane
          WHERE s.user = ${user} ORDER BY next`,
      )
      .map(scheduleOf);
  }

  /** Returns false if the user has no schedule with that id. */
  remove(user: string, id: string, by: string): boolean {
    const removed = this.listOf(user).find((each) => each.id === id);
    if (removed === undefined) return false;
    const { chat } = removed;
    this.#options.ledger.write((sql) => {
      sql.run`DELETE FROM chat_schedules WHERE user = ${user} AND id = ${id}`;
      this.#audit.note(sql, {
        at: this.#now(),
        by,
        deed: 'schedule-remove',
        detail: { schedule: id, user, chat },
      });
    });
    this.#options.events.emit(user, { type: 'schedule-remove', schedule: id, chat });
    return true;
  }

  /** Removes all of a user in chats of one channel. */
  removeOf(user: string, channel: string, by: string): void {
    const found = this.#options.ledger.read(
      (sql) => sql.all`SELECT id FROM chat_schedules WHERE user = ${user} AND channel = ${channel}`,
    );
    for (const { id } of found) this.remove(user, String(id), by);
  }

  /** Puts due messages on the bus. Also runs by itself. */
  async runDue(): Promise<void> {
    const { ledger, bus } = this.#options;
    const now = this.#now();
    const due = ledger.read(
      (sql) => sql.all`SELECT s.*, c.name AS chat FROM chat_schedules s JOIN chats c ON c.lane = s.lane
        WHERE next <= ${now} ORDER BY next`,
    );
    for (const row of due) {
      const [id, lane, user, slot] = [String(row.id), String(row.lane), String(row.user), Number(row.next)];
      const body: NewMessageBody = {
        channel: String(row.channel),
        address: String(row.address),
        sender: { channel: webChannel, id: user, name: `schedule ${id}` },
        text: String(row.text),
        files: [],
        isGroup: false,
      };
      const key = `schedule:${id}:${String(row.created_at)}:${slot}`;
      const isSkipped = row.catch_up === 'skip' && now - slot > missedAfterMs;
      if (!isSkipped) await bus.put({ lane, user, key, kind: 'scheduled', body: JSON.stringify(body) });
      const next = nextRun(JSON.parse(String(row.time)) as ScheduleTime, now);
      this.#advance({ id, slot, next, user, chat: String(row.chat), isSkipped });
    }
  }

  /** Runs once for each due time, together with its record. */
  #advance({ id, slot, next, user, chat, isSkipped }: RunSlot): void {
    const { ledger, events } = this.#options;
    const isFirst = ledger.write((sql) => {
      const { changes } =
        next === undefined
          ? sql.run`DELETE FROM chat_schedules WHERE id = ${id} AND next = ${slot}`
          : sql.run`UPDATE chat_schedules SET next = ${next} WHERE id = ${id} AND next = ${slot}`;
      if (Number(changes) === 0) return false;
      this.#audit.note(sql, {
        at: this.#now(),
        by: 'the clock',
        deed: isSkipped ? 'schedule-skip' : 'schedule-run',
        detail: { schedule: id, user, chat, slot },
      });
      return true;
    });
    if (isFirst) events.emit(user, { type: 'schedule-run', schedule: id, chat, isSkipped });
  }
}

interface RunSlot {
  readonly id: string;
  /** The due time that runs now, and the one after it. */
  readonly slot: number;
  readonly next: number | undefined;
  readonly user: string;
  readonly chat: string;
  readonly isSkipped: boolean;
}

function scheduleOf(row: Readonly<Record<string, unknown>>): ChatSchedule {
  return {
    id: String(row.id),
    chat: String(row.chat),
    when: String(row.at_text),
    text: String(row.text),
    catchUp: String(row.catch_up) as CatchUp,
    next: Number(row.next),
  };
}
