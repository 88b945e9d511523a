import { GeodeError, isGeodeError, reasonOf } from '../../base/errors.ts';
import type { AgentEventBody } from '../../seams/agent.ts';
import type { PersistentSandbox } from '../../seams/persistent.ts';
import type {
  ReplayDifference,
  ReplayEvent,
  ReplayedFile,
  ReplayOutcome,
  ReplayVerdict,
} from '../../seams/replay.ts';
import type { AgentDriver, DriverReplay, ReplayEnd } from '../driver.ts';
import type { TurnRecording } from '../transcript.ts';
import { cleaned } from '../turn-events.ts';
import { compareFiles } from './compare-files.ts';
import { Comparison, factsOf } from './comparison.ts';
import { messageOf, outcomeOf, type TurnRecord } from './turn-records.ts';

interface ReplayParts {
  readonly user: string;
  readonly record: TurnRecord;
  readonly recording: TurnRecording;
  readonly before: string;
  readonly driver: { readonly replay: NonNullable<AgentDriver['replay']> };
  readonly model: string | null;
  readonly secrets: readonly string[];
  /** The sandbox of the chat; only its points are read. */
  readonly source: PersistentSandbox;
  readonly copy: PersistentSandbox;
  readonly stop: AbortSignal;
  note(event: ReplayEvent): void;
}

type End = Omit<Extract<ReplayEvent, { type: 'replay-end' }>, 'kept'>;

/** Plays a turn in its copy and compares it with the recording. A failure of the turn is an outcome. */
export async function runReplay(parts: ReplayParts): Promise<End> {
  const { record, model, note } = parts;
  const comparison = new Comparison(record.events);
  const noted = (events: readonly ReplayEvent[]) => {
    for (const event of events) note(event);
  };
  const limits = new Set<string>();
  for (const limit of networkLimits(parts)) limits.add(limit);
  const point = await parts.copy.snapshots?.mark({ signal: parts.stop });
  const { outcome, text, events, durationMs } = await play(parts, {
    take: (event, served) => noted(comparison.take(event, served)),
    limit: (limit) => limits.add(limit),
  });
  noted(comparison.end(text, outcome !== 'recording-end' && outcome !== 'error'));
  const files = await filesOf(parts, point?.name, limits);
  for (const file of files.filter(({ same }) => same === false))
    noted(comparison.files(file.path, file.recorded ?? '', file.replayed ?? ''));
  const recorded = recordedOutcome(record);
  const replayed: ReplayOutcome = { outcome, text, durationMs, ...factsOf(events) };
  const { first, differences } = comparison;
  const verdict = verdictOf({ recorded, replayed, files, model, first });
  return {
    ...{ type: 'replay-end', verdict, first, differences, recorded, replayed, files },
    notes: [...limits],
  };
}

/** Said before anything is compared: a part of the network is never guessed. */
function networkLimits({ recording, model, driver }: ReplayParts): readonly string[] {
  const { missed, isPartial, calls } = recording;
  const reached = `The turn reached ${missed.join(', ')} through TLS or a tunnel, whose answers are not recorded`;
  return [
    ...(missed.length > 0 ? [`${reached}: the copy refuses such a connection.`] : []),
    ...(isPartial && model === null ? ['Some answers of the network were not recorded.'] : []),
    ...(calls > 0 && model !== null && !driver.replay.needsCalls
      ? ['Commands of the other model get no recorded answers of the network.']
      : []),
  ];
}

interface Played extends Omit<ReplayEnd, 'outcome'> {
  readonly outcome: ReplayOutcome['outcome'];
  readonly events: readonly AgentEventBody[];
  readonly durationMs: number;
}

async function play(
  { user, record, recording, driver, model, secrets, copy, stop }: ReplayParts,
  hear: {
    readonly take: (event: AgentEventBody, served: boolean) => void;
    readonly limit: DriverReplay['limit'];
  },
): Promise<Played> {
  const events: AgentEventBody[] = [];
  const startedAt = Date.now();
  const ended = (end: Pick<Played, 'outcome' | 'text'>): Played => ({
    ...end,
    ...{ events, durationMs: Date.now() - startedAt },
  });
  try {
    const end = await driver.replay.run({
      ...{ user, model, conversation: record.conversation, turn: record.turn, sandbox: copy },
      recorded: record.events,
      message: messageOf(record),
      ...{ attachments: recording.attachments, state: recording.state, recordedModel: recording.model },
      note(event, served = false) {
        const paid = event.type === 'usage' && model === null ? { ...event, cost: 0 } : event;
        const shown = cleaned(paid, secrets);
        events.push(shown);
        hear.take(shown, served);
      },
      limit: hear.limit,
      signal: stop,
    });
    return ended({ ...end, text: cleaned(end.text, secrets) });
  } catch (error) {
    if (stop.aborted || isGeodeError(error, 'turn_not_recorded')) throw error;
    const said = error instanceof GeodeError ? `${error.code}: ${error.message}` : reasonOf(error);
    hear.limit(`The replay ended with an error: ${cleaned(said, secrets)}`);
    return ended({ outcome: 'error', text: '' });
  }
}

async function filesOf(
  { source, copy, recording, before, stop }: ReplayParts,
  point: string | undefined,
  limits: Set<string>,
): Promise<readonly ReplayedFile[]> {
  if (recording.after === null || source.snapshots === undefined || copy.snapshots === undefined) {
    limits.add('The files after the recorded turn were not saved, so files are not compared.');
    return [];
  }
  try {
    const { files, truncated } = await compareFiles(
      { snapshots: source.snapshots, from: `turn:${before}`, to: `turn:${recording.after}` },
      { snapshots: copy.snapshots, from: point === undefined ? 'undo' : `undo:${point}`, to: undefined },
      stop,
    );
    if (truncated) limits.add(`More files changed than are compared: only the first ${files.length} are.`);
    if (files.some(({ same }) => same === null))
      limits.add('Some changed files are large or not text; only their kinds and sizes are compared.');
    return files;
  } catch (error) {
    if (!isGeodeError(error, 'snapshot_not_found') && !isGeodeError(error, 'snapshot_damaged')) throw error;
    limits.add('The files after the recorded turn were collected, so files are not compared.');
    return [];
  }
}

function recordedOutcome({ events, startedAt, endedAt }: TurnRecord): ReplayOutcome {
  const last = events.at(-1);
  const text = last?.type === 'result' ? last.text : '';
  return { outcome: outcomeOf(events), text, durationMs: endedAt - startedAt, ...factsOf(events) };
}

/** With the recorded answers every difference counts. With another model only what it achieved does. */
function verdictOf({
  recorded,
  replayed,
  files,
  model,
  first,
}: {
  readonly recorded: Pick<ReplayOutcome, 'outcome'>;
  readonly replayed: Pick<ReplayOutcome, 'outcome'>;
  readonly files: readonly Pick<ReplayedFile, 'same'>[];
  readonly model: string | null;
  readonly first: ReplayDifference | null;
}): ReplayVerdict {
  const hasSameFiles = files.every(({ same }) => same !== false);
  if (model === null) {
    if (first !== null) return 'different';
    const isWhole = replayed.outcome === recorded.outcome || replayed.outcome === 'recording-end';
    return isWhole ? 'same' : 'different';
  }
  const [before, now] = [recorded.outcome === 'done', replayed.outcome === 'done'];
  if (before !== now) return now ? 'better' : 'worse';
  return hasSameFiles && recorded.outcome === replayed.outcome ? 'same' : 'different';
}
