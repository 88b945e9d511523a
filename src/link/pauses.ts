import { GeodeError } from '../core/errors.ts';

/** Whether the sandbox is paused or held still, and for how long its time has stood still in all. */
export class Pauses {
  #paused = false;
  #held = false;
  #since: number | undefined;
  #totalMs = 0;
  /** Odd while a pause or a resume is under way, and during a hold. */
  #turns = 0;

  get paused(): boolean {
    return this.#paused;
  }

  get held(): boolean {
    return this.#held;
  }

  get ms(): number {
    return this.#totalMs + (this.#since === undefined ? 0 : performance.now() - this.#since);
  }

  set(paused: boolean): void {
    this.#paused = paused;
    this.#count();
  }

  async turning(work: () => Promise<void>): Promise<void> {
    this.#turns += 1;
    await work().finally(() => {
      this.#turns += 1;
    });
  }

  /** From now on; the result ends it. One at a time, and no turn meanwhile. */
  hold(): () => void {
    const turn = (held: boolean) => {
      this.#turns += 1;
      this.#held = held;
      this.#count();
    };
    turn(true);
    return () => turn(false);
  }

  /** To be asked later whether no turn began or ended since: during one, the runtime may say either. */
  steady(): () => boolean {
    const before = this.#turns;
    return () => before % 2 === 0 && before === this.#turns;
  }

  #count(): void {
    const isStill = this.#paused || this.#held;
    if (isStill === (this.#since !== undefined)) return;
    this.#totalMs = this.ms;
    this.#since = isStill ? performance.now() : undefined;
  }
}

export function sandboxPaused(): GeodeError {
  return new GeodeError('sandbox_paused', 'The sandbox is paused.');
}
