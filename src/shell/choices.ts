import { limits } from './limits.ts';
import { Refusal } from './verdict.ts';

/**
 * How far to go where the values of a command's variables have too many combinations: `pairs` sees every two
 * values together (a program and its target are two), `each` every value once, `first` only one combination.
 */
export type Breadth = 'pairs' | 'each' | 'first';

type Combination = ReadonlyMap<string, number>;

/**
 * Walks through the combinations of values that the variables of one command may have. A command is looked at
 * again until `next` says that all were seen; within one look a variable keeps its value.
 */
export class Choices {
  readonly #breadth: Breadth;
  readonly #counts = new Map<string, number>();
  #current: Combination = new Map();
  #met: string[] = [];
  #rest: Combination[] | undefined;
  #looks = 1;

  constructor(breadth: Breadth = 'pairs') {
    this.#breadth = breadth;
  }

  pick<T>(name: string, values: readonly T[]): T | undefined {
    if (values.length < 2) return values[0];
    if (!this.#met.includes(name)) {
      this.#met.push(name);
      this.#counts.set(name, Math.max(values.length, this.#counts.get(name) ?? 0));
    }
    return values[Math.min(this.#current.get(name) ?? 0, values.length - 1)];
  }

  /** Moves on to the next combination; false when there is none left. */
  next(at: string): boolean {
    if (this.#breadth === 'first') return false;
    if (this.#looks++ >= limits.combinations) this.#rest ??= this.#selected(at);
    const next = this.#rest === undefined ? this.#following() : this.#rest.pop();
    this.#current = next ?? new Map();
    this.#met = [];
    return next !== undefined;
  }

  /** Counts up like a number whose digits are the variables in the order in which they were met. */
  #following(): Combination | undefined {
    for (let last = this.#met.length - 1; last >= 0; last--) {
      const name = this.#met[last] ?? '';
      const digit = (this.#current.get(name) ?? 0) + 1;
      if (digit >= (this.#counts.get(name) ?? 0)) continue;
      const before = this.#met.slice(0, last).map((other) => [other, this.#current.get(other) ?? 0] as const);
      return new Map([...before, [name, digit]]);
    }
    return undefined;
  }

  /** What is still seen of too many combinations. */
  #selected(at: string): Combination[] {
    const all = [...this.#counts];
    const each = all.flatMap(([name, count]) => digits(count).map((digit) => new Map([[name, digit]])));
    if (this.#breadth === 'each') return each;
    if (each.length ** 2 > limits.pairs) {
      throw new Refusal('too-complex', 'The variables of the command may have too many values.', at);
    }
    return each.flatMap((one) => each.map((other) => new Map([...one, ...other])));
  }
}

function digits(count: number): number[] {
  return Array.from({ length: count }, (_, digit) => digit);
}
