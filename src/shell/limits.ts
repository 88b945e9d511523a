import { CommandRefusal } from './verdict.ts';

/** The maximum cost of checking one command. A command above any limit is refused, never allowed. */
export const policyLimits = {
  commandBytes: 64 * 1024,
  /** Maximum depth of scripts inside scripts. */
  depth: 30,
  /** Maximum number of commands, words and 64-character stretches of text. */
  steps: 60_000,
  /** The parser's cost grows with the square of these. */
  braces: 4_000,
  openBraces: 256,
  oldArithmetic: 200,
  /** Maximum words that one word may expand to. */
  alternatives: 64,
} as const;

const stretch = 64;

export class Budget {
  #left: number = policyLimits.steps;

  /** Counts one step and the length of a text. */
  spend(text: string): void {
    this.#left -= 1 + Math.floor(text.length / stretch);
    if (this.#left < 0) throw new CommandRefusal('too-complex', 'The command is too large to check.', text);
  }
}
