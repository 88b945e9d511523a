import type { Cancel } from '../base/cancel.ts';
import type { GeodeError } from '../base/errors.ts';
import type { ExitFacts, ProcessEvent } from './process.ts';

/** Facts about a process, for later readers of its journal. */
export interface JournalFacts {
  readonly argv: readonly string[];
  readonly startedAt: number;
}

/**
 * The append-only record of one process. Appended output survives the death of the host; only then may the guest
 * drop its copy. The size is bounded: a long output keeps its beginning and its newest part, and every reader gets
 * `output-lost` for the gap between them.
 */
export interface Journal {
  /** Bytes of output that it covers, stored or lost. */
  readonly length: number;
  readonly exit: ExitFacts | undefined;
  /** Records facts about the process. Has no effect unless the journal is empty. Fails like `append`. */
  begin(facts: JournalFacts): void;
  /**
   * Records output at its offset. Skips bytes already covered, so a repeated read duplicates nothing; a gap before
   * the offset counts as lost. After a failure (`disk_full`) the same piece may be appended again.
   */
  append(kind: 'stdout' | 'stderr', bytes: Uint8Array, offset: number): void;
  /** Marks uncovered output before an offset as lost, because no copy of it exists. */
  skip(to: number): void;
  /**
   * Ends all current followers with this reason, because output cannot be recorded for the time being. They may
   * follow again from their offset.
   */
  interrupt(reason: GeodeError): void;
  /** Records the exit and closes the record. Idempotent. Fails like `append`. */
  finish(exit: ExitFacts): void;
  /**
   * Yields the record from an offset, as it is when the read starts; the exit comes last if it is known. Later
   * changes, even `close`, do not affect the read.
   */
  read(from: number): Generator<ProcessEvent>;
  /**
   * Yields the record from an offset, then new output as it is appended, up to the exit. Followers are independent:
   * one that is too slow gets `output-lost`. Throws `sandbox_gone` if the journals are closed before the exit, after
   * the last recorded output; `cancelled` on the signal; and the reason of an interruption.
   */
  follow(from: number, options?: Cancel): AsyncGenerator<ProcessEvent>;
}

/** The journals of one sandbox. */
export interface Journals {
  /**
   * Opens the journal of a process, and creates it if needed. While the process runs, all callers share one journal,
   * so two followers write it once.
   */
  open(processId: string): Journal;
  has(processId: string): boolean;
  /**
   * Closes every descriptor and ends every follower. Journals are read-only from then on: a write throws
   * `sandbox_gone`. Idempotent.
   */
  close(): void;
}
