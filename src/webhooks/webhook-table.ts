import { z } from 'zod';
import type { User } from '../base/identity.ts';
import type { Chapter, Ledger } from '../ledger/ledger.ts';
import type { Sql } from '../ledger/sql.ts';
import { deliveryStates, type WebhookDelivery, type WebhookEvent, webhookEvents } from '../seams/webhooks.ts';

/** A webhook gets the events after `since`. The only row of `webhook_position` is the last event that was read. */
export const webhookChapter: Chapter = {
  name: 'webhooks',
  changes: [
    `CREATE TABLE webhooks (
      user TEXT NOT NULL,
      name TEXT NOT NULL,
      url TEXT NOT NULL,
      events TEXT NOT NULL,
      enabled INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      since INTEGER NOT NULL,
      dropped INTEGER NOT NULL,
      last_error TEXT,
      PRIMARY KEY (user, name)
    ) STRICT;
    CREATE TABLE webhook_deliveries (
      seq INTEGER NOT NULL,
      user TEXT NOT NULL,
      name TEXT NOT NULL,
      event TEXT NOT NULL,
      at INTEGER NOT NULL,
      body TEXT NOT NULL,
      state TEXT NOT NULL,
      attempts INTEGER NOT NULL,
      next_at INTEGER,
      status INTEGER,
      error TEXT,
      PRIMARY KEY (user, name, seq)
    ) STRICT;
    CREATE INDEX webhook_deliveries_due ON webhook_deliveries (state, next_at);
    CREATE TABLE webhook_position (seq INTEGER NOT NULL) STRICT`,
  ],
};

/** Finished calls of one webhook that are kept for its list. */
const mostFinished = 100;

export interface WebhookRow {
  readonly user: User;
  readonly name: string;
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  readonly enabled: boolean;
  readonly createdAt: number;
  readonly dropped: number;
  readonly lastError: string | null;
}

export interface DueDelivery {
  readonly seq: number;
  readonly user: User;
  readonly name: string;
  readonly url: string;
  readonly body: string;
  readonly attempts: number;
}

export interface StoredEvent {
  readonly seq: number;
  readonly user: User;
  readonly event: WebhookEvent;
  readonly at: number;
  readonly body: string;
}

export interface Attempt {
  readonly state: WebhookDelivery['state'];
  readonly nextAt: number | null;
  readonly status: number | null;
  readonly error: string | null;
}

/** Webhooks and their calls, in the ledger. */
export class WebhookTable {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  list(user: User): readonly (WebhookRow & { readonly waiting: number })[] {
    return this.#ledger
      .read(
        (sql) => sql.all`SELECT *, (SELECT count(*) FROM webhook_deliveries AS d WHERE d.user = webhooks.user
            AND d.name = webhooks.name AND d.state = 'waiting') AS waiting
          FROM webhooks WHERE user = ${user} ORDER BY name`,
      )
      .map((row) => ({ ...rowOf(row), waiting: Number(row.waiting) }));
  }

  has(user: User, name: string): boolean {
    return this.#ledger.read(
      (sql) => sql.get`SELECT 1 FROM webhooks WHERE user = ${user} AND name = ${name}` !== undefined,
    );
  }

  /** From the first webhook on there is a position, so that the next sender misses no event after it. */
  set(row: Pick<WebhookRow, 'user' | 'name' | 'url' | 'events' | 'enabled'>, since: number): void {
    const { user, name, url, events, enabled } = row;
    this.#ledger.write((sql) => {
      sql.run`INSERT INTO webhooks VALUES (${user}, ${name}, ${url}, ${JSON.stringify(events)},
          ${Number(enabled)}, ${Date.now()}, ${since}, 0, NULL)
        ON CONFLICT (user, name) DO UPDATE SET url = excluded.url, events = excluded.events,
          enabled = excluded.enabled, last_error = NULL`;
      sql.run`INSERT INTO webhook_position SELECT ${since} WHERE NOT EXISTS (SELECT 1 FROM webhook_position)`;
    });
  }

  remove(user: User, name: string): boolean {
    return this.#ledger.write((sql) => {
      sql.run`DELETE FROM webhook_deliveries WHERE user = ${user} AND name = ${name}`;
      return Number(sql.run`DELETE FROM webhooks WHERE user = ${user} AND name = ${name}`.changes) > 0;
    });
  }

  /** Returns false if it is off already, or has another address by now. */
  disable({ user, name, url }: DueDelivery): boolean {
    return this.#ledger.write((sql) => {
      const { changes } = sql.run`UPDATE webhooks SET enabled = 0
        WHERE user = ${user} AND name = ${name} AND url = ${url} AND enabled = 1`;
      return Number(changes) > 0;
    });
  }

  /** The last event that was read; undefined if none was. */
  position(): number | undefined {
    const seq = this.#ledger.read((sql) => sql.get`SELECT seq FROM webhook_position`?.seq);
    return seq === undefined ? undefined : Number(seq);
  }

  moveTo(seq: number): void {
    this.#ledger.write((sql) => moveTo(sql, seq));
  }

  /**
   * In one transaction with the position, so that an event is stored once. Of a webhook with `mostWaiting` calls the
   * oldest is dropped. Returns the number of webhooks that get it.
   */
  store({ seq, user, event, at, body }: StoredEvent, mostWaiting: number): number {
    const wanted = this.list(user).filter(({ enabled, events }) => enabled && events.includes(event));
    if (wanted.length === 0) return 0;
    return this.#ledger.write((sql) => {
      moveTo(sql, seq);
      let stored = 0;
      for (const { name } of wanted) {
        const { changes } = sql.run`INSERT INTO webhook_deliveries
          SELECT ${seq}, user, name, ${event}, ${at}, ${body}, 'waiting', 0, ${at}, NULL, NULL
          FROM webhooks WHERE user = ${user} AND name = ${name} AND since < ${seq}
          ON CONFLICT DO NOTHING`;
        stored += Number(changes);
        const dropped = sql.run`DELETE FROM webhook_deliveries WHERE user = ${user} AND name = ${name}
          AND seq IN (SELECT seq FROM webhook_deliveries WHERE user = ${user} AND name = ${name}
            AND state = 'waiting' ORDER BY seq DESC LIMIT -1 OFFSET ${mostWaiting})`.changes;
        if (Number(dropped) > 0)
          sql.run`UPDATE webhooks SET dropped = dropped + ${dropped} WHERE user = ${user} AND name = ${name}`;
      }
      return stored;
    });
  }

  /** The oldest due call of each enabled webhook. */
  due(now: number): readonly DueDelivery[] {
    return this.#ledger
      .read(
        (sql) => sql.all`SELECT min(d.seq) AS seq, d.user, d.name, d.body, d.attempts, w.url
          FROM webhook_deliveries AS d JOIN webhooks AS w ON w.user = d.user AND w.name = d.name
          WHERE d.state = 'waiting' AND d.next_at <= ${now} AND w.enabled = 1 GROUP BY d.user, d.name`,
      )
      .map((row) => dueSchema.parse(row));
  }

  /** When the next call after `now` is due. */
  nextDue(now: number): number | undefined {
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT min(d.next_at) AS next FROM webhook_deliveries AS d
        JOIN webhooks AS w ON w.user = d.user AND w.name = d.name
        WHERE d.state = 'waiting' AND d.next_at > ${now} AND w.enabled = 1`,
    );
    return typeof row?.next === 'number' ? row.next : undefined;
  }

  /** A failure at a former address is not stored; the next attempt uses the present address. */
  note({ user, name, seq, url }: DueDelivery, { state, nextAt, status, error }: Attempt): void {
    this.#ledger.write((sql) => {
      const { changes } = sql.run`UPDATE webhooks SET last_error = ${error}
        WHERE user = ${user} AND name = ${name} AND url = ${url}`;
      if (Number(changes) === 0 && state !== 'delivered') return;
      sql.run`UPDATE webhook_deliveries SET state = ${state}, attempts = attempts + 1, next_at = ${nextAt},
        status = ${status}, error = ${error} WHERE user = ${user} AND name = ${name} AND seq = ${seq}`;
      sql.run`DELETE FROM webhook_deliveries WHERE user = ${user} AND name = ${name} AND seq IN (
        SELECT seq FROM webhook_deliveries WHERE user = ${user} AND name = ${name} AND state <> 'waiting'
        ORDER BY seq DESC LIMIT -1 OFFSET ${mostFinished})`;
    });
  }

  deliveries(
    user: User,
    name: string,
    limit: number,
  ): readonly (Omit<WebhookDelivery, 'id'> & { seq: number })[] {
    return this.#ledger
      .read(
        (sql) => sql.all`SELECT * FROM webhook_deliveries WHERE user = ${user} AND name = ${name}
          ORDER BY seq DESC LIMIT ${limit}`,
      )
      .map((row) => {
        const { next_at: nextAt, ...rest } = deliverySchema.parse(row);
        return { ...rest, nextAt };
      });
  }
}

function moveTo(sql: Sql, seq: number): void {
  if (Number(sql.run`UPDATE webhook_position SET seq = ${seq}`.changes) > 0) return;
  sql.run`INSERT INTO webhook_position VALUES (${seq})`;
}

const dueSchema = z.object({
  seq: z.number(),
  user: z.string(),
  name: z.string(),
  url: z.string(),
  body: z.string(),
  attempts: z.number(),
});

const deliverySchema = z.object({
  seq: z.number(),
  event: z.enum(webhookEvents),
  state: z.enum(deliveryStates),
  at: z.number(),
  attempts: z.number(),
  next_at: z.number().nullable(),
  status: z.number().nullable(),
  error: z.string().nullable(),
});

function rowOf(row: Readonly<Record<string, unknown>>): WebhookRow {
  return {
    user: String(row.user),
    name: String(row.name),
    url: String(row.url),
    events: z.array(z.enum(webhookEvents)).parse(JSON.parse(String(row.events))),
    enabled: Number(row.enabled) === 1,
    createdAt: Number(row.created_at),
    dropped: Number(row.dropped),
    lastError: row.last_error === null ? null : String(row.last_error),
  };
}
