import { GeodeError } from '../core/errors.ts';

/** Whether the sandbox is paused, and for how long it has been in all. */
export class Pauses {
  #since: number | undefined;
  #totalMs = 0;
  /** Odd while a pause or a resume is under way. */
  #turns = 0;

  get paused(): boolean {
    return this.#since !== undefined;
  }

  get ms(): number {
    return this.#totalMs + (this.#since === undefined ? 0 : performance.now() - this.#since);
  }

  set(paused: boolean): void {
    if (paused === this.paused) return;
    this.#totalMs = this.ms;
    this.#since = paused ? performance.now() : undefined;
  }

  async turning(work: () => Promise<void>): Promise<void> {
    this.#turns += 1;
    await work().finally(() => {
      this.#turns += 1;
    });
  }

  /** To be asked later whether no turn began or ended since: during one, the runtime may say either. */
  steady(): () => boolean {
    const before = this.#turns;
    return () => before % 2 === 0 && before === this.#turns;
  }
}

export function sandboxPaused(): GeodeError {
  return new GeodeError('sandbox_paused', 'The sandbox is paused.');
}
