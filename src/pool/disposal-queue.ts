import type { Sandbox } from '../seams/sandbox.ts';

/** Removing is work for an engine as making is. */
const atOnce = { quiet: 4, busy: 2 } as const;

export interface DisposalQueueOptions {
  /** Somebody else wants the processor now. */
  readonly busy: () => boolean;
  /** As many may wait for a quiet moment; beyond that they go all the same. */
  readonly mostWaiting: number;
}

/** Removes sandboxes in the background: few at once, while the pool is quiet. */
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

  /** `now` waits for nothing. Resolves when nothing is left; the reaper finds what an engine keeps. */
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
