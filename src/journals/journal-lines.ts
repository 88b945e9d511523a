import { type JournalPart, type JournalPlace, journalBatches, type RecordedEvent } from './journal-events.ts';
import { segmentsIn } from './journal-segments.ts';

/** A line of output. `offset` is its start, `at` the time of its last piece. */
export interface JournalLine {
  readonly stream: 'stdout' | 'stderr';
  readonly offset: number;
  readonly at?: number;
  readonly text: string;
}

export interface LineBytes extends Omit<JournalLine, 'text'> {
  readonly bytes: Buffer;
  /** False for a line whose start lies before the part that is read. */
  readonly isWhole: boolean;
}

/** Longer lines are cut into pieces of this length, so memory use is limited. */
const longestLineBytes = 64 * 1024;
/** Maximum bytes of an answer, whatever was requested. */
export const mostAnswerBytes = 8 * 1024 ** 2;
export const mostLines = 10_000;

export function decodedLine({ bytes, isWhole: _, ...line }: LineBytes): JournalLine {
  return { ...line, text: bytes.toString() };
}

/** In the order in which they end. Lost output ends a line, as does the end of the record. */
export async function* journalLines(place: JournalPlace, part: JournalPart = {}): AsyncGenerator<LineBytes> {
  const isFromStart = (part.from ?? 0) === 0;
  const open = { stdout: new OpenLine('stdout', isFromStart), stderr: new OpenLine('stderr', isFromStart) };
  for await (const batch of journalBatches(place, part)) {
    for (const event of batch) {
      if ('bytes' in event) yield* open[event.type].take(event);
      else for (const line of [open.stdout, open.stderr]) yield* line.end(true);
    }
  }
  for (const line of [open.stdout, open.stderr]) yield* line.end(true);
}

/** The last lines, oldest first. Starts near the end, and again further up if that was not enough. */
export async function lastLines(
  place: JournalPlace,
  count: number,
  part: JournalPart,
): Promise<JournalLine[]> {
  const { from = 0 } = part;
  const starts = segmentsIn(place.folder, place.processId).map(({ start }) => start);
  const end = await endFrom(place, Math.max(from, starts.at(-1) ?? 0));
  const near = [end - count * usualLineBytes, starts.at(-1), starts.at(-3)];
  for (const start of [...near.filter((each) => each !== undefined && each > from), from]) {
    if (start === undefined) continue;
    const lines = await lastOf(count, journalLines(place, { ...part, from: start }));
    const isEnough = lines.length >= count && lines.every(({ isWhole }) => isWhole);
    if (isEnough || start === from) return lines.map(decodedLine);
  }
  return [];
}

/** A guess; a wrong one costs another read further up. */
const usualLineBytes = 200;

/** The offset after everything recorded, without reading the bytes. */
async function endFrom(place: JournalPlace, from: number): Promise<number> {
  let end = from;
  for await (const batch of journalBatches({ ...place, secrets: null }, { from }))
    for (const event of batch) if ('bytes' in event) end = event.offset + event.bytes.length;
  return end;
}

async function lastOf(count: number, lines: AsyncIterable<LineBytes>): Promise<LineBytes[]> {
  let last: LineBytes[] = [];
  let bytes = 0;
  for await (const line of lines) {
    last.push(line);
    bytes += line.bytes.length;
    // Removing lines from the front one by one would move all the others each time.
    if (last.length >= 2 * count) {
      last = last.slice(-count);
      bytes = last.reduce((sum, each) => sum + each.bytes.length, 0);
    }
    while (bytes > mostAnswerBytes) bytes -= last.shift()?.bytes.length ?? 0;
  }
  return last.slice(-count);
}

type Output = Extract<RecordedEvent, { bytes: Uint8Array }>;

/** The unfinished line of one stream. */
class OpenLine {
  readonly #stream: 'stdout' | 'stderr';
  #pieces: Uint8Array[] = [];
  #length = 0;
  #offset = 0;
  #time: { at?: number } = {};
  #isWhole: boolean;

  constructor(stream: 'stdout' | 'stderr', isWhole: boolean) {
    this.#stream = stream;
    this.#isWhole = isWhole;
  }

  *take({ bytes, offset, at }: Output): Generator<LineBytes> {
    this.#time = at === undefined ? {} : { at };
    for (let start = 0; start < bytes.length; ) {
      const newline = bytes.indexOf(10, start);
      const end = Math.min(newline < 0 ? bytes.length : newline, start + longestLineBytes - this.#length);
      if (this.#length === 0) this.#offset = offset + start;
      this.#pieces.push(bytes.subarray(start, end));
      this.#length += end - start;
      start = end;
      if (newline >= 0 && end === newline) {
        yield* this.end(false);
        start += 1;
      } else if (this.#length >= longestLineBytes) yield* this.end(false);
    }
  }

  *end(isBreak: boolean): Generator<LineBytes> {
    if (isBreak && this.#length === 0) return;
    const [only] = this.#pieces;
    const content =
      only !== undefined && this.#pieces.length === 1
        ? Buffer.from(only.buffer, only.byteOffset, only.length)
        : Buffer.concat(this.#pieces, this.#length);
    const bytes = content.at(-1) === 13 ? content.subarray(0, -1) : content;
    yield { stream: this.#stream, offset: this.#offset, ...this.#time, bytes, isWhole: this.#isWhole };
    this.#pieces = [];
    this.#length = 0;
    this.#isWhole = true;
  }
}
