import { EventEmitter, once } from 'node:events';
import { reasonOf } from '../base/errors.ts';
import type { User } from '../base/identity.ts';
import { type Log, noLog } from '../base/log.ts';
import {
  type EventBody,
  type EventGap,
  type Events,
  everyone,
  type HostEvent,
  type ReadEventsOptions,
} from '../seams/events.ts';
import type { Chapter, Ledger } from './ledger.ts';

/** AUTOINCREMENT never reuses the number of a deleted event. */
export const eventChapter: Chapter = {
  name: 'events',
  changes: [
    `CREATE TABLE events (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      at INTEGER NOT NULL,
      user TEXT NOT NULL,
      body TEXT NOT NULL
    ) STRICT;
    CREATE INDEX events_of_user ON events (user, seq)`,
  ],
};

export interface EventLogOptions {
  /** Number of events to keep; older ones are deleted. */
  readonly keep?: number;
  readonly log?: Log;
}

const pageSize = 256;
/** Deleting old events one by one would cost more than keeping them. */
const pruneEvery = 128;

/** The event stream, stored in the ledger: a reader first reads the table, then waits for new events. */
export class EventLog implements Events {
  readonly #ledger: Ledger;
  readonly #keep: number;
  readonly #log: Log;
  readonly #news = new EventEmitter().setMaxListeners(0);
  #latest: number;
  #sincePrune = 0;

  constructor(ledger: Ledger, { keep = 50_000, log = noLog }: EventLogOptions = {}) {
    this.#ledger = ledger;
    this.#keep = keep;
    this.#log = log;
    this.#latest = ledger.read((sql) =>
      Number(sql.get`SELECT seq FROM sqlite_sequence WHERE name = 'events'`?.seq ?? 0),
    );
  }

  get latest(): number {
    return this.#latest;
  }

  emit(user: User, eventBody: EventBody): void {
    try {
      this.#ledger.write((sql) => {
        const { lastInsertRowid } = sql.run`INSERT INTO events (at, user, body)
          VALUES (${Date.now()}, ${user}, ${JSON.stringify(eventBody)})`;
        this.#sincePrune += 1;
        if (this.#sincePrune >= pruneEvery) {
          sql.run`DELETE FROM events WHERE seq <= ${Number(lastInsertRowid) - this.#keep}`;
          this.#sincePrune = 0;
        }
        this.#latest = Number(lastInsertRowid);
      });
      this.#news.emit('news');
    } catch (err) {
      this.#log.warn({ err, event: eventBody.type }, `An event could not be stored: ${reasonOf(err)}`);
    }
  }

  async *read(
    whose: User | typeof everyone,
    { after, follow = true, signal }: ReadEventsOptions = {},
  ): AsyncGenerator<HostEvent | EventGap> {
    let last = after ?? this.#latest;
    while (!signal?.aborted) {
      const gap = this.#gapAfter(last);
      if (gap !== undefined) {
        last = gap.seq;
        yield gap;
      }
      // Before the query, so that an event during the query is found by the next one.
      const newest = this.#latest;
      const page = this.#page(whose, last);
      for (const event of page) {
        last = event.seq;
        yield event;
      }
      if (page.length === pageSize) continue;
      last = Math.max(last, newest);
      if (!follow) return;
      if (this.#latest === newest) await this.#next(signal);
    }
  }

  /**
   * A reader that is behind the stored events, or whose number this ledger never assigned: it belongs to another
   * ledger.
   */
  #gapAfter(last: number): EventGap | undefined {
    if (last > this.#latest) return { type: 'gap', seq: this.#latest };
    const oldest = this.#oldest();
    return last + 1 < oldest ? { type: 'gap', seq: oldest - 1 } : undefined;
  }

  async #next(signal: AbortSignal | undefined): Promise<void> {
    await once(this.#news, 'news', { ...(signal && { signal }) }).catch(() => {
      // The reader has left; the loop ends.
    });
  }

  #oldest(): number {
    const first = this.#ledger.read((sql) => sql.get`SELECT min(seq) AS seq FROM events`?.seq ?? null);
    return first === null ? this.#latest + 1 : Number(first);
  }

  #page(whose: User | typeof everyone, after: number): readonly HostEvent[] {
    const rows = this.#ledger.read((sql) =>
      whose === everyone
        ? sql.all`SELECT * FROM events WHERE seq > ${after} ORDER BY seq LIMIT ${pageSize}`
        : sql.all`SELECT * FROM events WHERE user = ${whose} AND seq > ${after} ORDER BY seq LIMIT ${pageSize}`,
    );
    return rows.map(({ seq, at, user, body }) => ({
      ...(JSON.parse(String(body)) as EventBody),
      seq: Number(seq),
      at: Number(at),
      user: String(user),
    }));
  }
}
