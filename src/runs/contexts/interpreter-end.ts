import type { GeodeError } from '../../base/errors.ts';
import type { ExitFacts } from '../../seams/process.ts';

/** How an interpreter ended: with an exit (forced by a `violation` of the protocol, if set), or with its sandbox. */
export type InterpreterEnd =
  | { readonly type: 'exit'; readonly exit: ExitFacts; readonly violation: GeodeError | null }
  | { readonly type: 'failure'; readonly error: GeodeError };

export type RunEnd = { readonly type: 'done'; readonly interrupted: boolean } | InterpreterEnd;

/** The end of an interpreter, also for short waits. */
export class EndNotifier {
  readonly end: Promise<InterpreterEnd>;
  readonly #listeners = new Set<(end: InterpreterEnd) => void>();
  #ended: InterpreterEnd | undefined;

  constructor(end: Promise<InterpreterEnd>) {
    this.end = end;
    void end.then((ended) => {
      this.#ended = ended;
      for (const onEnd of this.#listeners) onEnd(ended);
    });
  }

  /** Calls back at the end, unless removed first. A promise would keep every waiter in memory until then. */
  onEnd(callback: (end: InterpreterEnd) => void): () => void {
    if (this.#ended === undefined) this.#listeners.add(callback);
    else callback(this.#ended);
    return () => this.#listeners.delete(callback);
  }
}
