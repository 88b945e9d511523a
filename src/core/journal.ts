import type { ExitFacts, ProcessEvent } from './process.ts';

/**
 * The append-only record of one process. What is appended is safe from the death of the host; only then
 * is the guest told that it may forget it.
 */
export interface Journal {
  /** Bytes of output that it covers, kept or counted. */
  readonly length: number;
  readonly exit: ExitFacts | undefined;
  /** A piece that is covered already is skipped, so that a repeated read doubles nothing. */
  append(kind: 'stdout' | 'stderr', bytes: Uint8Array, offset: number): void;
  finish(exit: ExitFacts): void;
  /** What is on record from an offset on, the exit last if it is known. */
  read(from: number): Generator<ProcessEvent>;
}

/** The journals of one sandbox. */
export interface Journals {
  /** Opens the journal of a process, making it if it is not there. */
  open(processId: string): Journal;
  has(processId: string): boolean;
}
