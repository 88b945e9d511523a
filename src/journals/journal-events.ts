import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Cancel, throwIfCancelled } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import type { ProcessEvent } from '../seams/process.ts';
import { JournalCursor, JournalEventReader } from './journal-cursor.ts';
import { markEveryMs } from './journal-frames.ts';
import { type SegmentSource, segmentsOnDisk } from './journal-segments.ts';
import { EventRedactor } from './redacted.ts';

/** An event with the time (ms since 1970) when the host received it. */
export type RecordedEvent = ProcessEvent & { readonly at?: number };

/** The part of a journal to read. */
export interface JournalPart extends Cancel {
  /** Offsets: the first to read, and the first not to read. */
  readonly from?: number;
  readonly to?: number;
  readonly stream?: 'stdout' | 'stderr';
  /** Times: a read by time may start and end up to 100 ms too early or late, but never misses anything. */
  readonly since?: number;
  readonly until?: number;
}

export interface JournalPlace {
  readonly folder: string;
  readonly processId: string;
  /** Values to hide, in addition to everything shaped like a key; `null` shows the raw bytes. */
  readonly secrets: readonly string[] | null;
}

/** A secret may start before the requested part and end after it, so this much more is read. */
const marginBytes = 64 * 1024;

/**
 * Yields a part of a journal for display; the exit comes last if the part includes it. Works next to a host that is
 * writing it, in this process or another, and holds one piece of file at a time.
 */
export async function* journalEvents(
  place: JournalPlace,
  part: JournalPart = {},
): AsyncGenerator<RecordedEvent> {
  for await (const batch of journalBatches(place, part)) yield* batch;
}

/** The same by the piece of file, for callers that read a lot. */
export async function* journalBatches(
  place: JournalPlace,
  { signal, stream, ...part }: JournalPart,
): AsyncGenerator<RecordedEvent[]> {
  const { from = 0, to = Number.POSITIVE_INFINITY } = part;
  if (!(from >= 0))
    throw new GeodeError('invalid_input', `${from} is not a journal offset: use a whole number from 0.`);
  const margin = place.secrets === null ? 0 : marginBytes;
  const source = journalSource(place);
  const record = new RecordReader(source, Math.max(from - margin, 0));
  const redactor = place.secrets === null ? undefined : new EventRedactor(place.secrets);
  while (record.next < to + margin) {
    throwIfCancelled(signal, `Reading the journal of process ${place.processId}`);
    const events = record.read();
    if (events === undefined) break;
    yield events
      .filter((event) => stream === undefined || !('bytes' in event) || event.type === stream)
      .flatMap((event) => cutAt([from, to], event))
      .flatMap((event) => redactor?.push(event) ?? event)
      .filter((event) => isIn(part, event));
    await nextTurn();
  }
  yield (redactor?.flush() ?? []).filter((event) => isIn(part, event));
}

/** Throws `process_not_found` if there is no journal. */
export function journalSource({ folder, processId }: JournalPlace): SegmentSource {
  const source = segmentsOnDisk(folder, processId);
  if (source.at(0) !== undefined) return source;
  throw new GeodeError('process_not_found', `There is no journal of a process ${JSON.stringify(processId)}.`);
}

/** From an offset to the current end, piece by piece, with times. */
class RecordReader {
  readonly #cursor: JournalCursor;
  readonly #reader: JournalEventReader;
  #time: { at?: number } = {};

  constructor(source: SegmentSource, from: number) {
    this.#cursor = new JournalCursor(source, source.at(from));
    this.#reader = new JournalEventReader(from);
  }

  get next(): number {
    return this.#reader.next;
  }

  read(): RecordedEvent[] | undefined {
    const frames = this.#cursor.read();
    if (frames.length === 0) return undefined;
    const events: RecordedEvent[] = [];
    for (const frame of frames) {
      if (frame.type === 'time') this.#time = { at: frame.at };
      for (const event of this.#reader.read(frame)) events.push({ ...event, ...this.#time });
      if (frame.type === 'exit') events.push({ type: 'exit', ...frame.exit, ...this.#time });
    }
    return joined(events);
  }
}

type Output = Extract<RecordedEvent, { bytes: Uint8Array }>;

/** Joins neighbours of the same stream and time: a process that writes line by line makes very many. */
function joined(events: readonly RecordedEvent[]): RecordedEvent[] {
  const result: RecordedEvent[] = [];
  let run: Output[] = [];
  const endRun = () => {
    const [first] = run;
    if (first === undefined) return;
    result.push(run.length === 1 ? first : { ...first, bytes: Buffer.concat(run.map(({ bytes }) => bytes)) });
    run = [];
  };
  for (const event of events) {
    const last = run.at(-1);
    if (!('bytes' in event) || last === undefined || !isNext(last, event)) endRun();
    if ('bytes' in event) run.push(event);
    else result.push(event);
  }
  endRun();
  return result;
}

function isNext(last: Output, event: Output): boolean {
  return event.type === last.type && event.at === last.at && event.offset === last.offset + last.bytes.length;
}

/** The same, split at these offsets. */
function cutAt(cuts: readonly number[], event: RecordedEvent): RecordedEvent[] {
  if (event.type === 'exit') return [event];
  const end = event.offset + ('bytes' in event ? event.bytes.length : event.length);
  const inside = cuts.filter((cut) => cut > event.offset && cut < end);
  if (inside.length === 0) return [event];
  return [event.offset, ...inside].map((offset, index) => {
    const [first, last] = [offset - event.offset, (inside[index] ?? end) - event.offset];
    return 'bytes' in event
      ? { ...event, offset, bytes: event.bytes.subarray(first, last) }
      : { ...event, offset, length: last - first };
  });
}

function isIn({ from = 0, to = Number.POSITIVE_INFINITY, since, until }: JournalPart, event: RecordedEvent) {
  if (event.type !== 'exit' && (event.offset < from || event.offset >= to)) return false;
  if (event.at === undefined) return true;
  return (since === undefined || event.at > since - markEveryMs) && (until === undefined || event.at < until);
}
