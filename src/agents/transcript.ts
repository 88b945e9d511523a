import type { Ledger } from '../ledger/ledger.ts';
import type { Sql } from '../ledger/sql.ts';
import type { AgentEventBody, AgentTurnRecord, DriverName } from '../seams/agent.ts';
import type { TurnRow } from './turn-table.ts';

const pageSize = 50;

/** The version of the recordings that this Geode writes and reads. */
export const recordingFormat = 1;

/** The record that a replay needs besides the events of a turn. */
export interface TurnRecording {
  readonly format: typeof recordingFormat;
  /** The points `turn:NAME` of the workspace before and after it; null: none could be saved. */
  readonly before: string | null;
  readonly after: string | null;
  /** The model that was chosen for the conversation; null: the configured one. */
  readonly model: string | null;
  readonly attachments: readonly string[];
  /** The state of the driver when the turn began. */
  readonly state?: unknown;
  /** Calls through bindings, which are stored beside it. */
  readonly calls: number;
  /** A call is missing. */
  readonly isPartial: boolean;
  /** Servers that it reached in a way that is not recorded. */
  readonly missed: readonly string[];
}

/** Stores an ended turn permanently: its events are deleted when there are too many, and with their conversation. */
export function recordTurn(
  sql: Sql,
  { id: turn, conversation }: TurnRow,
  now: number,
  recording: TurnRecording | null,
): void {
  const events = sql.all`SELECT body FROM agent_events WHERE conversation = ${conversation}
    AND seq >= (SELECT first_seq FROM agent_turns WHERE id = ${turn}) AND turn = ${turn} ORDER BY seq`.map(
    ({ body }) => JSON.parse(String(body)) as AgentEventBody,
  );
  sql.run`INSERT INTO agent_transcript (user, chat, conversation, turn, driver, started_at, ended_at, events, recording)
    SELECT c.user, c.chat, c.id, t.id, c.driver, t.started_at, ${now}, ${JSON.stringify(joined(events))},
      ${recording === null ? null : JSON.stringify(recording)}
    FROM agent_turns t JOIN agent_conversations c ON c.id = t.conversation WHERE t.id = ${turn}
    ON CONFLICT (turn) DO NOTHING`;
}

/** Read in pages, because a chat may be years old. */
export function* transcriptOf(ledger: Ledger, user: string, chat: string): Generator<AgentTurnRecord> {
  for (let after = 0; ; ) {
    const page = ledger.read(
      (sql) => sql.all`SELECT * FROM agent_transcript
        WHERE user = ${user} AND chat = ${chat} AND number > ${after} ORDER BY number LIMIT ${pageSize}`,
    );
    for (const row of page) {
      after = Number(row.number);
      yield {
        turn: String(row.turn),
        conversation: Number(row.conversation),
        driver: String(row.driver) as DriverName,
        startedAt: Number(row.started_at),
        endedAt: Number(row.ended_at),
        events: JSON.parse(String(row.events)) as AgentEventBody[],
      };
    }
    if (page.length < pageSize) return;
  }
}

/** Pieces of the same text become one event. */
function joined(events: readonly AgentEventBody[]): readonly AgentEventBody[] {
  const all: AgentEventBody[] = [];
  for (const event of events) {
    const last = all.at(-1);
    if (last?.type === 'text' && event.type === 'text')
      all[all.length - 1] = { type: 'text', text: last.text + event.text };
    else if (last?.type === 'thinking' && event.type === 'thinking')
      all[all.length - 1] = { type: 'thinking', text: last.text + event.text };
    else all.push(event);
  }
  return all;
}
