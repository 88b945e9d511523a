import type { Truth } from './truth/truth.ts';
import { addRecalls } from './truth/uses.ts';

const FLUSH_AFTER_MS = 1_000;

/** Counts recalls in memory and writes them about once a second, so that no search waits for the disk. */
export class UseCounter {
  readonly #truth: Truth;
  readonly #now: () => number;
  #counts = new Map<number, number>();
  #timer: NodeJS.Timeout | null = null;

  constructor(truth: Truth, now: () => number) {
    this.#truth = truth;
    this.#now = now;
  }

  recalled(ids: readonly number[]): void {
    if (ids.length === 0) return;
    for (const id of ids) this.#counts.set(id, (this.#counts.get(id) ?? 0) + 1);
    // Counts are not worth a failed call: a full disk loses them.
    this.#timer ??= setTimeout(() => void this.flush().catch(() => {}), FLUSH_AFTER_MS).unref();
  }

  /** Writes the counts so far. */
  async flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const counts = this.#counts;
    if (counts.size === 0) return;
    this.#counts = new Map();
    await this.#truth.transaction((sql) => addRecalls(sql, counts, this.#now()));
  }
}
