import { Refusal } from './verdict.ts';

/** The most that judging one command may cost. A command beyond any limit is refused, never let pass. */
export const limits = {
  commandBytes: 64 * 1024,
  /** Scripts inside scripts. */
  depth: 30,
  /** Commands, words and 64-character stretches of text. */
  steps: 60_000,
  /** The parser's cost grows with the square of these. */
  braces: 4_000,
  openBraces: 256,
  oldArithmetic: 200,
  /** Words that one word may expand to. */
  alternatives: 64,
} as const;

const stretch = 64;

export class Budget {
  #left: number = limits.steps;

  /** Pays for one step and for the length of a text. */
  spend(text: string): void {
    this.#left -= 1 + Math.floor(text.length / stretch);
    if (this.#left < 0) throw new Refusal('too-complex', 'The command is too large to inspect.', text);
  }
}
