import type { GeodeError } from '../../base/errors.ts';
import type { ExitFacts } from '../../seams/process.ts';

/** How an interpreter came to its end: with an exit (forced by a `violation` of the protocol, if there was one), or with its sandbox. */
export type InterpreterEnd =
  | { readonly type: 'exit'; readonly exit: ExitFacts; readonly violation: GeodeError | null }
  | { readonly type: 'failure'; readonly error: GeodeError };

export type RunEnd = { readonly type: 'done'; readonly interrupted: boolean } | InterpreterEnd;

/** The end of an interpreter, for those who wait for something shorter as well. */
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

  /** Calls back at the end, unless that is taken back before. A promise would keep everybody until then. */
  onEnd(callback: (end: InterpreterEnd) => void): () => void {
    if (this.#ended === undefined) this.#listeners.add(callback);
    else callback(this.#ended);
    return () => this.#listeners.delete(callback);
  }
}
