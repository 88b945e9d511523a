import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Ledger } from '../ledger/ledger.ts';
import type { Sql } from '../ledger/sql.ts';
import type { AgentEvent, AgentEventBody } from '../seams/agent.ts';
import type { ConversationRow } from './conversation-table.ts';
import { recordTurn, type TurnRecording } from './transcript.ts';

export interface TurnRow {
  readonly id: string;
  readonly conversation: number;
  readonly message: string;
  readonly attachments: readonly string[];
  /** No person is available to answer questions. */
  readonly unattended: boolean;
  /** The undo point before it; null without snapshots. */
  readonly snapshot: string | null;
  /** How many hosts have run it. */
  readonly starts: number;
  readonly startedAt: number;
}

interface NewTurn {
  readonly message: string;
  readonly mark: string | null;
  readonly attachments: readonly string[];
  readonly unattended: boolean;
  readonly snapshot: string | null;
}

const requestSchema = z.object({
  message: z.string(),
  attachments: z.array(z.string()),
  unattended: z.boolean().default(false),
});

/** Turns and their numbered events in the ledger. */
export class TurnTable {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** Open turns whose host died. */
  open(): readonly { readonly user: string; readonly chat: string; readonly turn: TurnRow }[] {
    return this.#ledger
      .read(
        (sql) => sql.all`SELECT t.*, c.user, c.chat FROM agent_turns t
          JOIN agent_conversations c ON c.id = t.conversation WHERE t.ended_at IS NULL ORDER BY t.started_at`,
      )
      .map((row) => ({ user: String(row.user), chat: String(row.chat), turn: turnOf(row) }));
  }

  /** Stored together with its first event. */
  beginTurn(
    conversation: ConversationRow,
    { message, mark, attachments, unattended, snapshot }: NewTurn,
  ): { readonly row: TurnRow; readonly firstSeq: number } {
    const id = randomUUID();
    const now = Date.now();
    const { driver } = conversation;
    return this.#ledger.write((sql) => {
      const seq = addEvent(sql, conversation.id, id, { type: 'turn-start', driver, message });
      sql.run`INSERT INTO agent_turns VALUES (${id}, ${conversation.id}, ${mark},
        ${JSON.stringify({ message, attachments, unattended })}, ${snapshot}, 1, ${seq}, 0, ${now}, NULL)`;
      sql.run`UPDATE agent_conversations SET active_at = ${now} WHERE id = ${conversation.id}`;
      const row = { id, conversation: conversation.id, message, attachments, unattended, snapshot };
      return { row: { ...row, starts: 1, startedAt: now }, firstSeq: seq };
    });
  }

  /** Where the events of a turn start, by the caller's mark of its message. */
  marked(conversation: number, mark: string): { readonly id: string; readonly firstSeq: number } | undefined {
    const row = this.#ledger.read(
      (sql) =>
        sql.get`SELECT id, first_seq FROM agent_turns WHERE conversation = ${conversation} AND mark = ${mark}`,
    );
    return row === undefined ? undefined : { id: String(row.id), firstSeq: Number(row.first_seq) };
  }

  /** Marks a turn as continued by another host. */
  resumeTurn(turn: TurnRow): TurnRow {
    return this.#ledger.write((sql) => {
      sql.run`UPDATE agent_turns SET starts = starts + 1 WHERE id = ${turn.id}`;
      addEvent(sql, turn.conversation, turn.id, { type: 'turn-resume' });
      return { ...turn, starts: turn.starts + 1 };
    });
  }

  keep(turn: TurnRow, eventBodies: readonly AgentEventBody[], state?: unknown): void {
    this.#ledger.write((sql) => addEvents(sql, turn, eventBodies, state));
  }

  /** The last events of a turn, with the driver's state. Only the newest events of a conversation are kept. */
  endTurn(
    turn: TurnRow,
    eventBodies: readonly AgentEventBody[],
    keepEvents: number,
    state?: unknown,
    recording: TurnRecording | null = null,
  ): void {
    const now = Date.now();
    this.#ledger.write((sql) => {
      addEvents(sql, turn, eventBodies, state);
      recordTurn(sql, turn, now, recording);
      sql.run`UPDATE agent_turns SET ended_at = ${now} WHERE id = ${turn.id}`;
      sql.run`UPDATE agent_conversations SET active_at = ${now} WHERE id = ${turn.conversation}`;
      sql.run`DELETE FROM agent_events WHERE conversation = ${turn.conversation} AND seq <= (
        SELECT seq FROM agent_events WHERE conversation = ${turn.conversation}
        ORDER BY seq DESC LIMIT 1 OFFSET ${keepEvents})`;
    });
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
          AND seq >= (SELECT first_seq FROM agent_turns WHERE id = ${turn.id}) AND turn = ${turn.id} ORDER BY seq`,
      )
      .map(eventOf);
  }
}

function addEvents(
  sql: Sql,
  { id, conversation }: TurnRow,
  eventBodies: readonly AgentEventBody[],
  state: unknown,
): void {
  for (const eventBody of eventBodies) {
    addEvent(sql, conversation, id, eventBody);
    if (eventBody.type === 'usage')
      sql.run`UPDATE agent_turns SET cost = cost + ${eventBody.cost ?? 0} WHERE id = ${id}`;
  }
  if (state !== undefined)
    sql.run`UPDATE agent_conversations SET state = ${JSON.stringify(state)} WHERE id = ${conversation}`;
}

function addEvent(sql: Sql, conversation: number, turn: string, eventBody: AgentEventBody): number {
  const { lastInsertRowid } = sql.run`INSERT INTO agent_events (conversation, turn, at, body)
    VALUES (${conversation}, ${turn}, ${Date.now()}, ${JSON.stringify(eventBody)})`;
  return Number(lastInsertRowid);
}

type Row = Readonly<Record<string, unknown>>;

function eventOf(row: Row): AgentEvent {
  const eventBody = JSON.parse(String(row.body)) as AgentEventBody;
  return { ...eventBody, seq: Number(row.seq), turn: String(row.turn), at: Number(row.at) };
}

function turnOf(row: Row): TurnRow {
  const { message, attachments, unattended } = requestSchema.parse(JSON.parse(String(row.request)));
  return {
    id: String(row.id),
    conversation: Number(row.conversation),
    message,
    attachments,
    unattended,
    snapshot: row.snapshot === null ? null : String(row.snapshot),
    starts: Number(row.starts),
    startedAt: Number(row.started_at),
  };
}
