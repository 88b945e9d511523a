import type { Cancel } from '../base/cancel.ts';
import type { GeodeError } from '../base/errors.ts';
import type { ExitFacts, ProcessEvent } from './process.ts';

/** What a process is, for whoever reads its journal later. */
export interface JournalFacts {
  readonly argv: readonly string[];
  readonly startedAt: number;
}

/**
 * The append-only record of one process. What is appended is safe from the death of the host; only then
 * is the guest told that it may forget it. It is bounded: of a long output the beginning and the newest
 * part are kept, and every reader is told what is missing between them.
 */
export interface Journal {
  /** Bytes of output that it covers, kept or lost. */
  readonly length: number;
  readonly exit: ExitFacts | undefined;
  /** Says what the process is. Only an empty journal takes it; later it changes nothing. Fails like `append`. */
  begin(facts: JournalFacts): void;
  /**
   * Records a piece where it belongs. What is covered already is left out, so that a repeated read doubles
   * nothing; what lies between is lost. On failure (`disk_full`) nothing is covered that is not on record,
   * and the same piece may be appended again.
   */
  append(kind: 'stdout' | 'stderr', bytes: Uint8Array, offset: number): void;
  /** Gives up everything before an offset that is not covered: nobody has it any more. */
  skip(to: number): void;
  /**
   * Ends everybody who follows now with this reason: what the process writes cannot be recorded for the time being.
   * They may follow again from where they were.
   */
  interrupt(reason: GeodeError): void;
  /** The last word; a second one changes nothing. Fails like `append`. */
  finish(exit: ExitFacts): void;
  /**
   * What is on record from an offset on when the reading begins, the exit last if it is known. It goes on
   * whatever happens to the journal meanwhile, and after `close`.
   */
  read(from: number): Generator<ProcessEvent>;
  /**
   * What is on record from an offset on, then what is appended as it is appended, up to the exit. There may
   * be any number of followers, each at its own pace: one that is slower than the journal forgets is told
   * `output-lost`. Ends with `sandbox_gone` when the journals are closed before the exit, after everything
   * that is on record; with `cancelled` on the signal, and with the reason of an interruption.
   */
  follow(from: number, options?: Cancel): AsyncGenerator<ProcessEvent>;
}

/** The journals of one sandbox. */
export interface Journals {
  /**
   * Opens the journal of a process, making it if it is not there. While the process runs everybody gets
   * the same one, so that two who follow it write it once.
   */
  open(processId: string): Journal;
  has(processId: string): boolean;
  /**
   * Lets every descriptor go and ends every follower. From then on journals are only read: a write is
   * `sandbox_gone`. Idempotent.
   */
  close(): void;
}
