import { randomInt } from 'node:crypto';
import type { Bus } from '../core/bus.ts';
import { reasonOf } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { MessageBody } from './bodies.ts';
import { type KnownChat, webChannel } from './chat-table.ts';
import { nextRun, parseScheduleTime, type ScheduleTime } from './schedule-time.ts';

export interface Schedule {
  readonly id: string;
  readonly when: string;
  readonly text: string;
  readonly next: number;
}

export interface SchedulesOptions {
  readonly ledger: Ledger;
  readonly bus: Bus;
  readonly log: Log;
  /** Of cron text that names none. */
  readonly zone: string;
  readonly now?: () => number;
}

const lookEveryMs = 1_000;
const mostOfChat = 50;

/**
 * What is said in a chat at set times. The time for which a schedule runs is the key of its message, so each time counts
 * once, however often the host is killed in between. Times that passed while no host ran are made up for by one run.
 */
export class Schedules implements Disposable {
  readonly #options: SchedulesOptions;
  readonly #now: () => number;
  readonly #timer: NodeJS.Timeout;

  constructor(options: SchedulesOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#timer = setInterval(() => {
      this.runDue().catch((err) => options.log.error({ err }, `Schedules do not run: ${reasonOf(err)}`));
    }, lookEveryMs);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  /** `invalid_input` for a time that is none; undefined when the chat has too many. */
  add(chat: KnownChat, when: string, text: string): Schedule | undefined {
    const now = this.#now();
    const time = parseScheduleTime(when, this.#options.zone, now);
    const next = nextRun(time, now);
    if (next === undefined || this.list(chat.lane).length >= mostOfChat) return undefined;
    const id = randomInt(36 ** 4)
      .toString(36)
      .padStart(4, '0');
    this.#options.ledger.write(
      (sql) => sql.run`INSERT INTO chat_schedules
        VALUES (${id}, ${chat.lane}, ${chat.user}, ${chat.channel}, ${chat.address}, ${when}, ${JSON.stringify(time)},
          ${text}, ${next}, ${now})`,
    );
    return { id, when, text, next };
  }

  list(lane: string): readonly Schedule[] {
    return this.#options.ledger
      .read((sql) => sql.all`SELECT * FROM chat_schedules WHERE lane = ${lane} ORDER BY next`)
      .map(({ id, at_text, text, next }) => ({
        id: String(id),
        when: String(at_text),
        text: String(text),
        next: Number(next),
      }));
  }

  /** False when the chat has none of that id. */
  remove(lane: string, id: string): boolean {
    const { changes } = this.#options.ledger.write(
      (sql) => sql.run`DELETE FROM chat_schedules WHERE lane = ${lane} AND id = ${id}`,
    );
    return Number(changes) > 0;
  }

  /** Puts what is due on the bus. It also runs by itself. */
  async runDue(): Promise<void> {
    const { ledger, bus } = this.#options;
    const now = this.#now();
    const due = ledger.read(
      (sql) => sql.all`SELECT * FROM chat_schedules WHERE next <= ${now} ORDER BY next`,
    );
    for (const row of due) {
      const [id, lane, user, slot] = [String(row.id), String(row.lane), String(row.user), Number(row.next)];
      const body: MessageBody = {
        channel: String(row.channel),
        address: String(row.address),
        sender: { channel: webChannel, id: user, name: `schedule ${id}` },
        text: String(row.text),
        files: [],
        isGroup: false,
      };
      const key = `schedule:${id}:${String(row.created_at)}:${slot}`;
      await bus.put({ lane, user, key, kind: 'scheduled', body: JSON.stringify(body) });
      this.#advance(id, slot, nextRun(JSON.parse(String(row.time)) as ScheduleTime, now));
    }
  }

  #advance(id: string, slot: number, next: number | undefined): void {
    this.#options.ledger.write((sql) =>
      next === undefined
        ? sql.run`DELETE FROM chat_schedules WHERE id = ${id} AND next = ${slot}`
        : sql.run`UPDATE chat_schedules SET next = ${next} WHERE id = ${id} AND next = ${slot}`,
    );
  }
}
