/** The recorded turns of a chat, as a replay reads them. */
import { z } from 'zod';
import { GeodeError } from '../../base/errors.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { AgentEventBody, DriverName } from '../../seams/agent.ts';
import type { RecordedTurn, TurnOutcome } from '../../seams/replay.ts';
import { recordingFormat, type TurnRecording } from '../transcript.ts';

export interface TurnRecord {
  readonly turn: string;
  readonly conversation: number;
  readonly driver: DriverName;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly events: readonly AgentEventBody[];
  /** A text says why it cannot be used. */
  readonly recording: TurnRecording | string;
}

const mostListed = 200;

const recordingSchema = z.object({
  format: z.literal(recordingFormat),
  before: z.string().nullable(),
  after: z.string().nullable(),
  model: z.string().nullable(),
  attachments: z.array(z.string()),
  state: z.unknown().optional(),
  calls: z.int().default(0),
  isPartial: z.boolean().default(false),
  missed: z.array(z.string()).default([]),
});

/** Newest first. */
export function turnRecords(ledger: Ledger, user: string, chat: string): readonly TurnRecord[] {
  return ledger
    .read(
      (sql) => sql.all`SELECT * FROM agent_transcript WHERE user = ${user} AND chat = ${chat}
        ORDER BY number DESC LIMIT ${mostListed}`,
    )
    .map(recordOf);
}

/** By its id, the beginning of its id, or `last`. */
export function findTurn(ledger: Ledger, user: string, chat: string, wanted: string): TurnRecord {
  const prefix = `${wanted.replace(/[^0-9a-f-]/gi, '?').toLowerCase()}%`;
  const rows = ledger.read((sql) =>
    wanted === 'last'
      ? sql.all`SELECT * FROM agent_transcript WHERE user = ${user} AND chat = ${chat}
          ORDER BY number DESC LIMIT 1`
      : sql.all`SELECT * FROM agent_transcript WHERE user = ${user} AND chat = ${chat}
          AND turn LIKE ${prefix} LIMIT 2`,
  );
  const [row, another] = rows;
  const named = JSON.stringify(wanted.slice(0, 80));
  if (row === undefined)
    throw new GeodeError('turn_not_found', `The chat ${JSON.stringify(chat)} has no ended turn ${named}.`);
  if (another !== undefined)
    throw new GeodeError('invalid_input', `More than one turn begins with ${named}: give more of its id.`);
  return recordOf(row);
}

export function listedTurn(record: TurnRecord): RecordedTurn {
  const { turn, driver, events, startedAt, endedAt } = record;
  const last = events.at(-1);
  return {
    ...{ turn, driver, startedAt, endedAt },
    message: messageOf(record),
    outcome: outcomeOf(events),
    cost: last?.type === 'result' ? last.cost : null,
    problem: problemOf(record),
  };
}

export function messageOf({ events: [first] }: Pick<TurnRecord, 'events'>): string {
  return first?.type === 'turn-start' ? first.message : '';
}

export function outcomeOf(events: readonly AgentEventBody[]): TurnOutcome {
  const last = events.at(-1);
  return last?.type === 'result' ? last.outcome : 'error';
}

/** Why this turn cannot be played again, as far as its own record says. */
export function problemOf({ recording }: Pick<TurnRecord, 'recording'>): string | null {
  if (typeof recording === 'string') return recording;
  return recording.before === null ? 'the files before it were not saved' : null;
}

type Row = Readonly<Record<string, unknown>>;

function recordOf(row: Row): TurnRecord {
  return {
    turn: String(row.turn),
    conversation: Number(row.conversation),
    driver: String(row.driver) as DriverName,
    startedAt: Number(row.started_at),
    endedAt: Number(row.ended_at),
    events: JSON.parse(String(row.events)) as AgentEventBody[],
    recording: recordingOf(row.recording),
  };
}

function recordingOf(stored: unknown): TurnRecording | string {
  if (typeof stored !== 'string') return 'it was recorded by a Geode that saved no files for a replay';
  const json: unknown = JSON.parse(stored);
  const { data } = recordingSchema.safeParse(json);
  if (data !== undefined) return data;
  const { data: other } = z.object({ format: z.number() }).safeParse(json);
  if (other?.format === recordingFormat) return 'its recording is damaged';
  return `its recording has the format ${other?.format ?? 'of another version'}, and this Geode reads ${recordingFormat}`;
}
