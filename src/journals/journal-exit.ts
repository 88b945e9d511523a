import { chmodSync, closeSync, openSync, readSync, statSync, utimesSync } from 'node:fs';
import type { ExitFacts } from '../seams/process.ts';
import { exitFrameBytes, frameAt } from './journal-frames.ts';

/** A journal with an exit is read-only, so its file mode shows whether the process has finished. */
const finishedMode = 0o400;

export function isFinishedMode(mode: number): boolean {
  return (mode & 0o777) === finishedMode;
}

/** The head's times show which journal ended first, even if its exit is in another file. */
export function markFinished(head: string, isWhole: boolean): void {
  if (!isWhole) utimesSync(head, new Date(), new Date());
  chmodSync(head, finishedMode);
}

/** How a process ended and how much it wrote, from the last bytes of its last segment. */
export function exitAtEnd(path: string): { exit: ExitFacts; length: number } | undefined {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size < exitFrameBytes) return undefined;
  const tail = Buffer.alloc(exitFrameBytes);
  const file = openSync(path, 'r');
  try {
    readSync(file, tail, 0, tail.length, size - tail.length);
  } finally {
    closeSync(file);
  }
  const frame = frameAt(tail, 0);
  if (typeof frame === 'string' || frame.type !== 'exit' || frame.size !== exitFrameBytes) return undefined;
  return { exit: frame.exit, length: frame.offset };
}
