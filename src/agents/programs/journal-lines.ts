import type { ExitFacts, Process } from '../../seams/process.ts';

/** One line that a program wrote, and the journal offset behind it, where another reader continues. */
interface JournalLine {
  readonly text: string;
  readonly end: number;
}

export type ExitEvent = { readonly type: 'exit'; readonly stderr: string } & ExitFacts;

export type LineEvent =
  | ({ readonly type: 'line' } & JournalLine)
  /** Part of its output is lost, so a line may be missing. */
  | { readonly type: 'lost' }
  | ExitEvent;

const mostLine = 64 * 1024 ** 2;
const mostStderr = 4_000;

/** The stdout of a program line by line. Keeps the end of stderr, to explain a failure. */
export async function* processLines(process: Process): AsyncGenerator<LineEvent> {
  let pieces: Buffer[] = [];
  let size = 0;
  let stderr = '';
  /** Skips the rest of a line whose start is lost or that is too long. */
  let isBroken = false;
  for await (const event of process) {
    if (event.type === 'exit') {
      const { type: _, ...facts } = event;
      yield { type: 'exit', stderr: stderr.trim(), ...facts };
    } else if (event.type === 'output-lost') {
      [pieces, size, isBroken] = [[], 0, true];
      yield { type: 'lost' };
    } else if (event.type === 'stderr') {
      stderr = (stderr + Buffer.from(event.bytes).toString()).slice(-mostStderr);
    } else {
      const bytes = Buffer.from(event.bytes);
      let from = 0;
      for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, from)) {
        const text = Buffer.concat([...pieces, bytes.subarray(from, at)]).toString();
        if (!isBroken) yield { type: 'line', text, end: event.offset + at + 1 };
        [pieces, size, isBroken, from] = [[], 0, false, at + 1];
      }
      pieces.push(Buffer.from(bytes.subarray(from)));
      size += bytes.length - from;
      if (size > mostLine) [pieces, size, isBroken] = [[], 0, true];
    }
  }
}
