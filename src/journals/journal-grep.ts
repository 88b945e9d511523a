import { Worker } from 'node:worker_threads';
import { type Cancel, throwIfCancelled, within } from '../base/cancel.ts';
import { GeodeError, reasonOf } from '../base/errors.ts';
import { type JournalPart, type JournalPlace, journalSource } from './journal-events.ts';
import {
  decodedLine,
  type JournalLine,
  journalLines,
  type LineBytes,
  mostAnswerBytes,
  mostLines,
} from './journal-lines.ts';

export interface GrepOptions extends JournalPart {
  /** The pattern is a JavaScript regular expression; otherwise plain text. */
  readonly regex?: boolean;
  readonly ignoreCase?: boolean;
  /** Maximum number of matching lines to return; default 100. */
  readonly limit?: number;
  /** Number of lines around a match to return, at most 100. */
  readonly before?: number;
  readonly after?: number;
  /** Timeout of a regular expression; default 10 s. */
  readonly timeoutMs?: number;
}

export interface GrepAnswer {
  /** Matches and the lines around them, each once, in journal order. */
  readonly lines: readonly (JournalLine & { readonly isMatch: boolean })[];
  /** There are more matches than the limit. */
  readonly truncated: boolean;
}

export interface GrepWork {
  readonly place: JournalPlace;
  readonly pattern: string;
  readonly options: Omit<GrepOptions, 'signal'>;
}

const longestPattern = 1_000;
const mostContext = 100;

/**
 * Searches for lines, always within limits: long lines are searched in pieces, answers end at `limit`, and a regular
 * expression, which could run forever, runs in a worker with a deadline.
 */
export async function grepJournal(
  place: JournalPlace,
  pattern: string,
  { signal, ...options }: GrepOptions,
): Promise<GrepAnswer> {
  throwIfCancelled(signal, 'The search');
  check(pattern, options);
  journalSource(place);
  const work: GrepWork = { place, pattern, options };
  return options.regex === true ? grepInWorker(work, { signal }) : grepHere(work, { signal });
}

export async function grepHere({ place, pattern, options }: GrepWork, cancel: Cancel): Promise<GrepAnswer> {
  const { limit = 100, before = 0, after = 0 } = options;
  const matches = matcher(pattern, options);
  const found: (JournalLine & { isMatch: boolean })[] = [];
  const passed: LineBytes[] = [];
  let [count, trailing, bytes] = [0, 0, 0];
  const give = (line: LineBytes, isMatch: boolean) => {
    found.push({ ...decodedLine(line), isMatch });
    bytes += line.bytes.length;
  };
  for await (const line of journalLines(place, { ...options, ...cancel })) {
    if (matches(line.bytes)) {
      if (count === limit || bytes > mostAnswerBytes) return { lines: found, truncated: true };
      for (const earlier of passed.splice(0)) give(earlier, false);
      give(line, true);
      count += 1;
      trailing = after;
    } else if (trailing > 0) {
      give(line, false);
      trailing -= 1;
    } else if (before > 0) {
      passed.push(line);
      if (passed.length > before) passed.shift();
    }
  }
  return { lines: found, truncated: false };
}

function matcher(
  pattern: string,
  { regex = false, ignoreCase = false }: GrepOptions,
): (line: Buffer) => boolean {
  if (regex) {
    const expression = new RegExp(pattern, ignoreCase ? 'i' : '');
    return (line) => expression.test(line.toString());
  }
  if (!ignoreCase) return (line) => line.includes(pattern);
  const wanted = pattern.toLowerCase();
  return (line) => line.toString().toLowerCase().includes(wanted);
}

async function grepInWorker(work: GrepWork, { signal }: Cancel): Promise<GrepAnswer> {
  const deadline = {
    ms: work.options.timeoutMs ?? 10_000,
    what: 'The search',
    hint: 'Use a simpler expression, or search for plain text.',
    signal,
  };
  const worker = new Worker(new URL('./journal-grep-worker.ts', import.meta.url), {
    workerData: work,
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 128 },
  });
  try {
    return await within(deadline, () => {
      const { promise, resolve, reject } = Promise.withResolvers<GrepAnswer>();
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.once('exit', () => reject(new GeodeError('internal', 'The search ended without an answer.')));
      return promise;
    });
  } finally {
    await worker.terminate();
  }
}

function check(pattern: string, options: GrepOptions): void {
  if (pattern === '' || pattern.length > longestPattern) {
    throw invalid(`A pattern may have 1 to ${longestPattern} characters; this one has ${pattern.length}.`);
  }
  checkLines('limit', options.limit ?? 1, 1, mostLines);
  checkLines('before', options.before ?? 0, 0, mostContext);
  checkLines('after', options.after ?? 0, 0, mostContext);
  if (options.regex !== true) return;
  try {
    new RegExp(pattern);
  } catch (error) {
    throw invalid(`${JSON.stringify(pattern)} is not a regular expression: ${reasonOf(error)}.`);
  }
}

function checkLines(name: string, value: number, least: number, most: number): void {
  if (!Number.isSafeInteger(value) || value < least || value > most)
    throw invalid(`${value} is not a valid number of lines for \`${name}\`: use ${least} to ${most}.`);
}

function invalid(message: string): GeodeError {
  return new GeodeError('invalid_input', message);
}
