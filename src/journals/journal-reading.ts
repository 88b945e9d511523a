import { GeodeError } from '../base/errors.ts';
import { type JournalPart, type JournalPlace, journalEvents, type RecordedEvent } from './journal-events.ts';
import { type GrepAnswer, type GrepOptions, grepJournal } from './journal-grep.ts';
import { type JournalLine, lastLines, mostAnswerBytes, mostLines } from './journal-lines.ts';
import { type JournalSummary, listJournals } from './journal-list.ts';
import { redactedText } from './redacted.ts';

interface JournalPage {
  readonly events: readonly RecordedEvent[];
  /** Where the next page starts. */
  readonly next: number;
  /** The end of the journal: so far, or finally if the last event is an exit. */
  readonly isLast: boolean;
}

/**
 * Reads the journals of one sandbox, for people and programs, whether or not the sandbox runs and whichever process
 * writes them. Changes no file. Results are redacted, except for callers that ask for raw bytes. Unknown ids throw
 * `process_not_found`, invalid numbers `invalid_input`.
 */
export interface JournalReading {
  /** Lists the journals. `endedSince` (ms since 1970) leaves out journals that ended before that time. */
  list(endedSince?: number): JournalSummary[];
  events(processId: string, part?: JournalPart): AsyncGenerator<RecordedEvent>;
  /** The next bytes of output from an offset on. */
  page(processId: string, limitBytes: number, part?: JournalPart): Promise<JournalPage>;
  /** The last lines, oldest first. */
  tail(processId: string, lines: number, part?: JournalPart): Promise<JournalLine[]>;
  /** The last bytes. */
  tailBytes(processId: string, bytes: number, part?: JournalPart): Promise<RecordedEvent[]>;
  grep(processId: string, pattern: string, options?: GrepOptions): Promise<GrepAnswer>;
}

export function journalReading(folder: string, secrets: readonly string[] | null = []): JournalReading {
  const at = (processId: string): JournalPlace => ({ folder, processId, secrets });
  return {
    list: (endedSince) => listJournals(folder, endedSince).map((summary) => shown(summary, secrets)),
    events: (processId, part) => journalEvents(at(processId), part),
    page: async (processId, limitBytes, part = {}) =>
      page(at(processId), amount(limitBytes, mostAnswerBytes), part),
    tail: async (processId, lines, part = {}) => lastLines(at(processId), amount(lines, mostLines), part),
    tailBytes: async (processId, bytes, part = {}) =>
      tailBytes(at(processId), amount(bytes, mostAnswerBytes), part),
    grep: (processId, pattern, options = {}) => grepJournal(at(processId), pattern, options),
  };
}

function shown(summary: JournalSummary, secrets: readonly string[] | null): JournalSummary {
  if (summary.facts === undefined || secrets === null) return summary;
  const argv = summary.facts.argv.map((argument) => redactedText(argument, secrets));
  return { ...summary, facts: { ...summary.facts, argv } };
}

/** The page is measured before redaction, which changes lengths, so that pages are contiguous. */
async function page(place: JournalPlace, limitBytes: number, part: JournalPart): Promise<JournalPage> {
  const { next, isLast, exit } = await pageEnd({ ...place, secrets: null }, limitBytes, part);
  const events: RecordedEvent[] = [];
  for await (const event of journalEvents(place, { ...part, to: next })) {
    if (event.type !== 'exit') events.push(event);
  }
  return { events: [...events.sort(byOffset), ...exit], next, isLast };
}

/** The exit belongs to the page only if it was recorded when the page ended: more output may come in between. */
async function pageEnd(
  place: JournalPlace,
  limitBytes: number,
  part: JournalPart,
): Promise<{ next: number; isLast: boolean; exit: RecordedEvent[] }> {
  let next = part.from ?? 0;
  let left = limitBytes;
  for await (const event of journalEvents(place, part)) {
    if (event.type === 'exit') return { next, isLast: true, exit: [event] };
    if (left === 0) return { next, isLast: false, exit: [] };
    const taken = 'bytes' in event ? Math.min(event.bytes.length, left) : event.length;
    next = event.offset + taken;
    if (!('bytes' in event)) continue;
    left -= taken;
    if (taken < event.bytes.length) return { next, isLast: false, exit: [] };
  }
  return { next, isLast: true, exit: [] };
}

/** The part before the last bytes is also a page. */
async function tailBytes(
  place: JournalPlace,
  limitBytes: number,
  part: JournalPart,
): Promise<RecordedEvent[]> {
  const raw = { ...place, secrets: null };
  let total = 0;
  for await (const event of journalEvents(raw, part)) if ('bytes' in event) total += event.bytes.length;
  const from = total > limitBytes ? (await pageEnd(raw, total - limitBytes, part)).next : part.from;
  const events: RecordedEvent[] = [];
  for await (const event of journalEvents(place, { ...part, from: from ?? 0 })) events.push(event);
  return events.sort(byOffset);
}

/** An exit comes after everything. */
function byOffset(a: RecordedEvent, b: RecordedEvent): number {
  const [first, second] = [a, b].map((event) => (event.type === 'exit' ? Number.MAX_VALUE : event.offset));
  return (first ?? 0) - (second ?? 0);
}

function amount(count: number, most: number): number {
  if (Number.isSafeInteger(count) && count > 0 && count <= most) return count;
  throw new GeodeError(
    'invalid_input',
    `${count} is not a valid amount: use a whole number from 1 to ${most}.`,
  );
}
