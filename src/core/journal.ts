import type { ExitFacts, ProcessEvent } from './process.ts';

/**
 * The append-only record of one process. What is appended is safe from the death of the host; only then
 * is the guest told that it may forget it.
 */
export interface Journal {
  /** Bytes of output that it covers, kept or counted. */
  readonly length: number;
  readonly exit: ExitFacts | undefined;
  /**
   * Records a piece where it belongs. What is covered already is left out, so that a repeated read doubles
   * nothing; what lies between is counted as lost. On failure (`disk_full`) the record is as before, and
   * the same piece may be appended again.
   */
  append(kind: 'stdout' | 'stderr', bytes: Uint8Array, offset: number): void;
  /** Counts everything before an offset that is not covered: nobody has it any more. */
  skip(to: number): void;
  /** The last word; a second one changes nothing. Fails like `append`. */
  finish(exit: ExitFacts): void;
  /**
   * What is on record from an offset on when the reading begins, the exit last if it is known. It goes on
   * whatever happens to the journal meanwhile, and after `close`.
   */
  read(from: number): Generator<ProcessEvent>;
}

/** The journals of one sandbox. */
export interface Journals {
  /**
   * Opens the journal of a process, making it if it is not there. While the process runs everybody gets
   * the same one, so that two who follow it write it once.
   */
  open(processId: string): Journal;
  has(processId: string): boolean;
  /** Lets every descriptor go. From then on journals are only read: a write is `sandbox_gone`. Idempotent. */
  close(): void;
}
