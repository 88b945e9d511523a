import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { AgentConversation, AgentEvent, AgentHappening, Audience, DriverName } from '../core/agent.ts';
import { GeodeError } from '../core/errors.ts';
import type { Chapter, Ledger } from '../ledger/ledger.ts';
import type { Sql } from '../ledger/sql.ts';
import { recordTurn } from './transcript.ts';

/** AUTOINCREMENT: the number of an event that is gone is never given again. */
export const agentChapter: Chapter = {
  name: 'agents',
  changes: [
    `CREATE TABLE agent_conversations (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      user TEXT NOT NULL,
      chat TEXT NOT NULL,
      driver TEXT NOT NULL,
      model TEXT,
      state TEXT,
      allowed TEXT NOT NULL DEFAULT '[]',
      created_at INTEGER NOT NULL,
      active_at INTEGER NOT NULL,
      UNIQUE (user, chat)
    ) STRICT;
    CREATE TABLE agent_turns (
      id TEXT PRIMARY KEY,
      conversation INTEGER NOT NULL REFERENCES agent_conversations (id) ON DELETE CASCADE,
      mark TEXT,
      request TEXT NOT NULL,
      snapshot TEXT,
      starts INTEGER NOT NULL,
      first_seq INTEGER NOT NULL,
      cost REAL NOT NULL,
      started_at INTEGER NOT NULL,
      ended_at INTEGER,
      UNIQUE (conversation, mark)
    ) STRICT;
    CREATE INDEX agent_turns_open ON agent_turns (conversation) WHERE ended_at IS NULL;
    CREATE TABLE agent_events (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      conversation INTEGER NOT NULL REFERENCES agent_conversations (id) ON DELETE CASCADE,
      turn TEXT NOT NULL,
      at INTEGER NOT NULL,
      body TEXT NOT NULL
    ) STRICT;
    CREATE INDEX agent_events_of ON agent_events (conversation, seq);
    CREATE TABLE agent_messages (
      conversation INTEGER NOT NULL REFERENCES agent_conversations (id) ON DELETE CASCADE,
      number INTEGER NOT NULL,
      turn TEXT NOT NULL,
      message TEXT NOT NULL,
      PRIMARY KEY (conversation, number)
    ) STRICT`,
    // A transcript outlives its conversation, so it refers to none.
    `ALTER TABLE agent_conversations ADD COLUMN audience TEXT NOT NULL DEFAULT 'private';
    CREATE TABLE agent_summaries (
      conversation INTEGER PRIMARY KEY REFERENCES agent_conversations (id) ON DELETE CASCADE,
      upto INTEGER NOT NULL,
      text TEXT NOT NULL,
      at INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE agent_steers (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      conversation INTEGER NOT NULL REFERENCES agent_conversations (id) ON DELETE CASCADE,
      turn TEXT NOT NULL,
      mark TEXT NOT NULL,
      text TEXT NOT NULL,
      taken INTEGER NOT NULL DEFAULT 0,
      UNIQUE (conversation, mark)
    ) STRICT;
    CREATE TABLE agent_transcript (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      user TEXT NOT NULL,
      chat TEXT NOT NULL,
      conversation INTEGER NOT NULL,
      turn TEXT NOT NULL UNIQUE,
      driver TEXT NOT NULL,
      started_at INTEGER NOT NULL,
      ended_at INTEGER NOT NULL,
      events TEXT NOT NULL
    ) STRICT;
    CREATE INDEX agent_transcript_of ON agent_transcript (user, chat, number)`,
  ],
};

export interface ConversationRow extends AgentConversation {
  readonly id: number;
  readonly user: string;
  readonly audience: Audience;
}

export interface TurnRow {
  readonly id: string;
  readonly conversation: number;
  readonly message: string;
  readonly attachments: readonly string[];
  /** The undo point before it; null where there are no snapshots. */
  readonly snapshot: string | null;
  /** How many hosts have worked on it. */
  readonly starts: number;
  readonly startedAt: number;
}

interface NewTurn {
  readonly message: string;
  readonly mark: string | null;
  readonly attachments: readonly string[];
  readonly snapshot: string | null;
}

const requestSchema = z.object({ message: z.string(), attachments: z.array(z.string()) });

/** Conversations, turns and events in the ledger. */
export class AgentTable {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  find(user: string, chat: string): ConversationRow | undefined {
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT c.*, max(e.seq) AS seq,
          (SELECT count(*) FROM agent_turns t WHERE t.conversation = c.id) AS turns,
          (SELECT count(*) FROM agent_turns t WHERE t.conversation = c.id AND t.ended_at IS NULL) AS open,
          (SELECT sum(cost) FROM agent_turns t WHERE t.conversation = c.id) AS cost
        FROM agent_conversations c LEFT JOIN agent_events e ON e.conversation = c.id
        WHERE c.user = ${user} AND c.chat = ${chat} GROUP BY c.id`,
    );
    return row === undefined ? undefined : conversationOf(row);
  }

  /** Throws `agent_not_found`. */
  get(user: string, chat: string): ConversationRow {
    const found = this.find(user, chat);
    if (found !== undefined) return found;
    throw new GeodeError('agent_not_found', `The chat ${JSON.stringify(chat)} has no conversation.`);
  }

  has(conversation: number): boolean {
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT id FROM agent_conversations WHERE id = ${conversation}`,
    );
    return row !== undefined;
  }

  list(user: string): readonly ConversationRow[] {
    return this.#ledger
      .read(
        (sql) => sql.all`SELECT chat FROM agent_conversations WHERE user = ${user} ORDER BY active_at DESC`,
      )
      .map(({ chat }) => this.get(user, String(chat)));
  }

  /** Those whose turn has not ended: their host did. */
  open(): readonly { readonly user: string; readonly chat: string; readonly turn: TurnRow }[] {
    return this.#ledger
      .read(
        (sql) => sql.all`SELECT t.*, c.user, c.chat FROM agent_turns t
          JOIN agent_conversations c ON c.id = t.conversation WHERE t.ended_at IS NULL ORDER BY t.started_at`,
      )
      .map((row) => ({ user: String(row.user), chat: String(row.chat), turn: turnOf(row) }));
  }

  /** Those without an open turn of which a driver keeps something. */
  left(): readonly (Pick<ConversationRow, 'id' | 'user' | 'chat' | 'driver'> & {
    readonly state: unknown;
  })[] {
    return this.#ledger
      .read(
        (
          sql,
        ) => sql.all`SELECT id, user, chat, driver, state FROM agent_conversations c WHERE state IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM agent_turns t WHERE t.conversation = c.id AND t.ended_at IS NULL)`,
      )
      .map(({ id, user, chat, driver, state }) => ({
        ...{ id: Number(id), user: String(user), chat: String(chat) },
        driver: String(driver) as DriverName,
        state: JSON.parse(String(state)),
      }));
  }

  begin(user: string, chat: string, driver: DriverName, model: string | null): ConversationRow {
    const now = Date.now();
    this.#ledger.write(
      (sql) => sql.run`INSERT INTO agent_conversations (user, chat, driver, model, created_at, active_at)
        VALUES (${user}, ${chat}, ${driver}, ${model}, ${now}, ${now}) ON CONFLICT DO NOTHING`,
    );
    return this.get(user, chat);
  }

  /** The audience never becomes smaller again. */
  openToGroup(conversation: number): void {
    this.#ledger.write(
      (sql) => sql.run`UPDATE agent_conversations SET audience = 'group' WHERE id = ${conversation}`,
    );
  }

  /** With its first event. */
  beginTurn(
    conversation: ConversationRow,
    { message, mark, attachments, snapshot }: NewTurn,
  ): { readonly row: TurnRow; readonly firstSeq: number } {
    const id = randomUUID();
    const now = Date.now();
    const { driver } = conversation;
    return this.#ledger.write((sql) => {
      const seq = addEvent(sql, conversation.id, id, { type: 'turn-start', driver, message });
      sql.run`INSERT INTO agent_turns VALUES (${id}, ${conversation.id}, ${mark},
        ${JSON.stringify({ message, attachments })}, ${snapshot}, 1, ${seq}, 0, ${now}, NULL)`;
      sql.run`UPDATE agent_conversations SET active_at = ${now} WHERE id = ${conversation.id}`;
      const row = { id, conversation: conversation.id, message, attachments, snapshot };
      return { row: { ...row, starts: 1, startedAt: now }, firstSeq: seq };
    });
  }

  /** Where the events of a turn begin, by the caller's mark of its message. */
  marked(conversation: number, mark: string): { readonly id: string; readonly firstSeq: number } | undefined {
    const row = this.#ledger.read(
      (sql) =>
        sql.get`SELECT id, first_seq FROM agent_turns WHERE conversation = ${conversation} AND mark = ${mark}`,
    );
    return row === undefined ? undefined : { id: String(row.id), firstSeq: Number(row.first_seq) };
  }

  /** Another host takes it. */
  resumeTurn(turn: TurnRow): TurnRow {
    return this.#ledger.write((sql) => {
      sql.run`UPDATE agent_turns SET starts = starts + 1 WHERE id = ${turn.id}`;
      addEvent(sql, turn.conversation, turn.id, { type: 'turn-resume' });
      return { ...turn, starts: turn.starts + 1 };
    });
  }

  keep(turn: TurnRow, happenings: readonly AgentHappening[], state?: unknown): void {
    this.#ledger.write((sql) => {
      for (const happening of happenings) {
        addEvent(sql, turn.conversation, turn.id, happening);
        if (happening.type === 'usage')
          sql.run`UPDATE agent_turns SET cost = cost + ${happening.cost ?? 0} WHERE id = ${turn.id}`;
      }
      if (state !== undefined)
        sql.run`UPDATE agent_conversations SET state = ${JSON.stringify(state)} WHERE id = ${turn.conversation}`;
    });
  }

  /** The last events of a turn. Of the conversation's events the newest are kept. */
  endTurn(turn: TurnRow, happenings: readonly AgentHappening[], keepEvents: number): void {
    const now = Date.now();
    this.#ledger.write((sql) => {
      for (const happening of happenings) addEvent(sql, turn.conversation, turn.id, happening);
      recordTurn(sql, turn.id, now);
      sql.run`UPDATE agent_turns SET ended_at = ${now} WHERE id = ${turn.id}`;
      sql.run`UPDATE agent_conversations SET active_at = ${now} WHERE id = ${turn.conversation}`;
      sql.run`DELETE FROM agent_events WHERE conversation = ${turn.conversation} AND seq <= (
        SELECT seq FROM agent_events WHERE conversation = ${turn.conversation}
        ORDER BY seq DESC LIMIT 1 OFFSET ${keepEvents})`;
    });
  }

  state(conversation: number): unknown {
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT state FROM agent_conversations WHERE id = ${conversation}`,
    );
    return typeof row?.state === 'string' ? JSON.parse(row.state) : undefined;
  }

  /** Tools that a person allowed for the whole conversation. */
  allowed(conversation: number): readonly string[] {
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT allowed FROM agent_conversations WHERE id = ${conversation}`,
    );
    return z.array(z.string()).parse(JSON.parse(String(row?.allowed ?? '[]')));
  }

  allow(conversation: number, tool: string): void {
    const allowed = JSON.stringify([...new Set([...this.allowed(conversation), tool])]);
    this.#ledger.write(
      (sql) => sql.run`UPDATE agent_conversations SET allowed = ${allowed} WHERE id = ${conversation}`,
    );
  }

  events(conversation: number, after: number, limit: number): readonly AgentEvent[] {
    return this.#ledger
      .read(
        (sql) => sql.all`SELECT * FROM agent_events WHERE conversation = ${conversation} AND seq > ${after}
          ORDER BY seq LIMIT ${limit}`,
      )
      .map(eventOf);
  }

  ofTurn(turn: TurnRow): readonly AgentEvent[] {
    return this.#ledger
      .read(
        (sql) => sql.all`SELECT * FROM agent_events WHERE conversation = ${turn.conversation}
          AND turn = ${turn.id} ORDER BY seq`,
      )
      .map(eventOf);
  }

  remove(conversation: number): void {
    this.#ledger.write((sql) => {
      sql.run`DELETE FROM agent_messages WHERE conversation = ${conversation}`;
      sql.run`DELETE FROM agent_events WHERE conversation = ${conversation}`;
      sql.run`DELETE FROM agent_turns WHERE conversation = ${conversation}`;
      sql.run`DELETE FROM agent_conversations WHERE id = ${conversation}`;
    });
  }
}

function addEvent(sql: Sql, conversation: number, turn: string, happening: AgentHappening): number {
  const { lastInsertRowid } = sql.run`INSERT INTO agent_events (conversation, turn, at, body)
    VALUES (${conversation}, ${turn}, ${Date.now()}, ${JSON.stringify(happening)})`;
  return Number(lastInsertRowid);
}

type Row = Readonly<Record<string, unknown>>;

function eventOf(row: Row): AgentEvent {
  const happening = JSON.parse(String(row.body)) as AgentHappening;
  return { ...happening, seq: Number(row.seq), turn: String(row.turn), at: Number(row.at) };
}

function conversationOf(row: Row): ConversationRow {
  return {
    id: Number(row.id),
    user: String(row.user),
    chat: String(row.chat),
    driver: String(row.driver) as DriverName,
    model: row.model === null ? null : String(row.model),
    state: Number(row.open) > 0 ? 'running' : 'idle',
    audience: row.audience === 'group' ? 'group' : 'private',
    createdAt: Number(row.created_at),
    activeAt: Number(row.active_at),
    turns: Number(row.turns),
    seq: Number(row.seq ?? 0),
    cost: Number(row.cost ?? 0),
  };
}

function turnOf(row: Row): TurnRow {
  const { message, attachments } = requestSchema.parse(JSON.parse(String(row.request)));
  return {
    id: String(row.id),
    conversation: Number(row.conversation),
    message,
    attachments,
    snapshot: row.snapshot === null ? null : String(row.snapshot),
    starts: Number(row.starts),
    startedAt: Number(row.started_at),
  };
}
