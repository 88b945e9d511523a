import type { ExitFacts } from '../../seams/process.ts';
import { type Rich, richBytes } from './rich.ts';

export interface ContextError {
  readonly name: string;
  readonly message: string;
  /** As printed by the language, with the lines of user code and without the kernel's own. */
  readonly traceback: string;
}

/**
 * How a run went. `failed`: the code raised. `interrupted`: by `interrupt()`. `timed-out`: its time was up. `ended`:
 * the interpreter itself ended during it, and `exit` says how; the next run starts a fresh one, without the
 * variables.
 */
export type ContextStatus = 'done' | 'failed' | 'interrupted' | 'timed-out' | 'ended';

export interface ContextResult {
  readonly status: ContextStatus;
  readonly stdout: string;
  readonly stderr: string;
  /** Everything shown, in order, including the value of the last expression. */
  readonly results: readonly Rich[];
  readonly value: Rich | null;
  readonly error: ContextError | null;
  /** Set if the interpreter ended during the run, by itself or because it ignored an interrupt. */
  readonly exit: ExitFacts | null;
  /**
   * Counts the interpreters of the context from 1: a different number than before means that its variables were lost.
   */
  readonly interpreter: number;
  /** Bytes of output and number of results that were not stored. */
  readonly dropped: { readonly stdout: number; readonly stderr: number; readonly results: number };
  readonly durationMs: number;
}

export type ContextEvent =
  | { readonly type: 'stdout'; readonly text: string }
  | { readonly type: 'stderr'; readonly text: string }
  | { readonly type: 'result'; readonly result: Rich }
  | { readonly type: 'error'; readonly error: ContextError };

export interface ContextLimits {
  readonly outputBytes: number;
  readonly resultBytes: number;
}

/** Folds the messages of an interpreter into a result, within the limits. */
export class ResultRecord {
  readonly #limits: ContextLimits;
  readonly #streams = { stdout: new TextRecord(), stderr: new TextRecord() };
  readonly #results: Rich[] = [];
  #resultBytes = 0;
  #droppedResults = 0;
  #error: ContextError | null = null;
  #early: ContextEvent[] = [];
  #listener: ((event: ContextEvent) => void) | undefined;

  constructor(limits: ContextLimits) {
    this.#limits = limits;
  }

  get error(): ContextError | null {
    return this.#error;
  }

  /** Output from before the listener, from threads and tasks between two runs, is sent first. */
  listen(listener: (event: ContextEvent) => void): void {
    for (const event of this.#early) listener(event);
    this.#early = [];
    this.#listener = listener;
  }

  output(kind: 'stdout' | 'stderr', bytes: Uint8Array): void {
    const { text, kept } = this.#streams[kind].add(bytes, this.#limits.outputBytes);
    if (this.#listener !== undefined || kept) this.#emit({ type: kind, text });
  }

  show(result: Rich): void {
    const size = richBytes(result);
    if (this.#resultBytes + size > this.#limits.resultBytes) {
      this.#droppedResults += 1;
      return;
    }
    this.#resultBytes += size;
    this.#results.push(result);
    this.#emit({ type: 'result', result });
  }

  fail(error: ContextError): void {
    this.#error = error;
    this.#emit({ type: 'error', error });
  }

  result(facts: Pick<ContextResult, 'status' | 'exit' | 'interpreter' | 'durationMs'>): ContextResult {
    const { stdout, stderr } = this.#streams;
    return {
      ...facts,
      stdout: stdout.text(),
      stderr: stderr.text(),
      results: this.#results,
      value: this.#results.findLast(({ kind }) => kind === 'value') ?? null,
      error: this.#error,
      dropped: { stdout: stdout.dropped, stderr: stderr.dropped, results: this.#droppedResults },
    };
  }

  #emit(event: ContextEvent): void {
    if (this.#listener === undefined) this.#early.push(event);
    else this.#listener(event);
  }
}

/** Text of one stream. Invalid UTF-8 becomes U+FFFD. */
class TextRecord {
  readonly #decoder = new TextDecoder();
  readonly #kept: string[] = [];
  #bytes = 0;
  dropped = 0;

  add(bytes: Uint8Array, limit: number): { text: string; kept: boolean } {
    const text = this.#decoder.decode(bytes, { stream: true });
    const room = Math.max(limit - this.#bytes, 0);
    const whole = bytes.length <= room;
    this.#bytes += Math.min(bytes.length, room);
    this.dropped += Math.max(bytes.length - room, 0);
    if (room > 0) this.#kept.push(whole ? text : new TextDecoder().decode(bytes.subarray(0, room)));
    return { text, kept: room > 0 };
  }

  text(): string {
    return this.#kept.join('') + (this.dropped === 0 ? this.#decoder.decode() : '');
  }
}
