import type { Sandbox } from '../core/sandbox.ts';

const atOnce = 2;

/** Ends sandboxes: few at once, since removing is work for an engine as making is. */
export class Endings {
  readonly #running = new Set<Promise<void>>();
  readonly #turns: (() => void)[] = [];

  get size(): number {
    return this.#running.size;
  }

  /** `now` goes before those that wait. Resolves when nothing is left; the reaper finds what an engine keeps. */
  end(sandbox: Sandbox, pace: 'now' | 'soon'): Promise<void> {
    const ending = (pace === 'now' ? Promise.resolve() : this.#turn())
      .then(() => sandbox.stop())
      .catch(() => {})
      .finally(() => {
        this.#running.delete(ending);
        this.#turns.shift()?.();
      });
    this.#running.add(ending);
    return ending;
  }

  async done(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  #turn(): Promise<void> {
    if (this.#running.size < atOnce) return Promise.resolve();
    return new Promise((resolve) => this.#turns.push(resolve));
  }
}
