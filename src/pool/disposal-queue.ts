import type { Sandbox } from '../seams/sandbox.ts';

/** Removing costs an engine as much work as creating. */
const atOnce = { quiet: 4, busy: 2 } as const;

export interface DisposalQueueOptions {
  /** Other work needs the CPU now. */
  readonly busy: () => boolean;
  /** Maximum number that wait for a quiet moment; above it removal starts anyway. */
  readonly mostWaiting: number;
}

/** Removes sandboxes in the background: a few at once, while the pool is quiet. */
export class DisposalQueue {
  readonly #options: DisposalQueueOptions;
  readonly #all = new Set<Promise<void>>();
  readonly #turns: (() => void)[] = [];
  #active = 0;

  constructor(options: DisposalQueueOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#all.size;
  }

  /** `now` does not wait for quiet. Resolves when nothing is left; the reaper finds leftovers in an engine. */
  end(sandbox: Sandbox, pace: 'now' | 'soon'): Promise<void> {
    if (pace === 'now') this.#active += 1;
    const ending = (pace === 'now' ? Promise.resolve() : this.#turn())
      .then(() => sandbox.stop())
      .catch(() => {})
      .finally(() => {
        this.#active -= 1;
        this.#all.delete(ending);
        this.proceed();
      });
    this.#all.add(ending);
    return ending;
  }

  /** Called when the pool may have become quiet. */
  proceed(): void {
    const busy = this.#options.busy();
    const mayWait = busy ? this.#options.mostWaiting : 0;
    while (this.#turns.length > mayWait && this.#active < atOnce[busy ? 'busy' : 'quiet']) {
      this.#active += 1;
      this.#turns.shift()?.();
    }
  }

  async done(): Promise<void> {
    while (this.#all.size > 0) await Promise.all(this.#all);
  }

  #turn(): Promise<void> {
    const turn = new Promise<void>((resolve) => this.#turns.push(resolve));
    this.proceed();
    return turn;
  }
}
