import { Refusal } from './verdict.ts';

/** What judging one command may cost. Whatever goes beyond is refused, never waved through. */
export const limits = {
  commandBytes: 64 * 1024,
  /** Nested scripts, substitutions and compound commands. */
  depth: 60,
  /** Words, commands and 64-character stretches of text. */
  steps: 60_000,
  /** Characters of one value, such as a variable that doubles itself. */
  textLength: 64 * 1024,
  /** Openings of what makes the parser look far ahead, each time anew. */
  braces: 4_000,
  openBraces: 256,
  oldArithmetic: 200,
  /** Words that one word may expand to. */
  fields: 512,
  /** Values that a variable may hold after the branches of a script met. */
  values: 32,
  /** Combinations of such values looked at for one command, and pairs of values beyond that. */
  combinations: 64,
  pairs: 1_000,
  /** Distinct unknown texts; the private use area has room for 6,400. */
  unknowns: 6_000,
} as const;

const stretch = 64;

export class Budget {
  #left: number = limits.steps;

  spend(steps: number, at: string): void {
    this.#left -= steps;
    if (this.#left < 0) {
      throw new Refusal('too-complex', 'The command is too large to be looked at in full.', at);
    }
  }

  /** Counts a text by its length and refuses one that has grown out of bounds. */
  read(text: string, at: string): void {
    if (text.length > limits.textLength) {
      throw new Refusal('too-complex', 'A text in the command grows out of bounds.', at);
    }
    this.spend(1 + Math.floor(text.length / stretch), at);
  }
}
