import { limits } from './limits.ts';
import { Refusal } from './verdict.ts';

/**
 * Walks through every combination of the values that the variables of one command may have.
 * A command is looked at again until `next` says that all combinations were seen; within one look a
 * variable keeps its value.
 */
export class Choices {
  #digits: number[] = [];
  #counts: number[] = [];
  readonly #positions = new Map<string, number>();
  #looks = 1;

  pick<T>(name: string, values: readonly T[]): T | undefined {
    if (values.length < 2) return values[0];
    const known = this.#positions.get(name);
    const position = known ?? this.#counts.length;
    if (known === undefined) {
      this.#positions.set(name, position);
      this.#counts.push(values.length);
      if (position >= this.#digits.length) this.#digits.push(0);
    }
    return values[Math.min(this.#digits[position] ?? 0, values.length - 1)];
  }

  /** Moves on to the next combination; false when there is none left. */
  next(at: string): boolean {
    while (this.#digits.length > 0) {
      const last = this.#digits.length - 1;
      const digit = (this.#digits[last] ?? 0) + 1;
      if (digit < (this.#counts[last] ?? 0)) {
        this.#digits[last] = digit;
        this.#counts = [];
        this.#positions.clear();
        if (++this.#looks > limits.combinations) {
          throw new Refusal('too-complex', 'The variables of the command may have too many values.', at);
        }
        return true;
      }
      this.#digits.pop();
      this.#counts.length = Math.min(this.#counts.length, last);
    }
    return false;
  }
}
