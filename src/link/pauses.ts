import { GeodeError } from '../base/errors.ts';

interface PausesOptions {
  readonly paused: boolean;
  /** Called after a pause or resume, by this host or by somebody else. */
  readonly onChange: () => void;
  /** If a sandbox cannot be frozen or thawed, it may have ended: returns that error, or the given one. */
  readonly explain: (error: unknown) => Promise<unknown>;
}

/** Whether the sandbox is paused or held still, and for how long in total. */
export class Pauses {
  readonly #options: PausesOptions;
  #paused: boolean;
  #held = false;
  #since: number | undefined;
  #totalMs = 0;
  /** Odd during a pause, a resume or a hold. */
  #turns = 0;

  constructor(options: PausesOptions) {
    this.#options = options;
    this.#paused = options.paused;
    this.#count();
  }

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
    if (paused === this.#paused) return;
    this.#paused = paused;
    this.#count();
    this.#options.onChange();
  }

  /** Counts as paused from before the freeze. If the freeze fails half-way, the sandbox is thawed. */
  async pause(freeze: () => Promise<void>, thaw: () => Promise<void>): Promise<void> {
    const before = this.#paused;
    this.set(true);
    await this.#turning(freeze).catch(async (error) => {
      // A sandbox that cannot be thawed counts as paused, so that it can be resumed.
      if (!before)
        await this.#turning(thaw).then(
          () => this.set(false),
          () => {},
        );
      throw error;
    });
  }

  async resume(thaw: () => Promise<void>): Promise<void> {
    await this.#turning(thaw);
    this.set(false);
  }

  /** Freezes without marking it paused. Call the returned function once to thaw. One hold at a time; calls wait for it. */
  async hold(freeze: () => Promise<void>, thaw: () => Promise<void>): Promise<() => Promise<void>> {
    this.#holdTurn(true);
    const free = () => thaw().finally(() => this.#holdTurn(false));
    await freeze().catch(async (error) => {
      await free().catch(() => {});
      throw await this.#options.explain(error);
    });
    return free;
  }

  /**
   * Ask the result later whether a pause or resume started or ended since: during one, the runtime may report either
   * state.
   */
  steady(): () => boolean {
    const before = this.#turns;
    return () => before % 2 === 0 && before === this.#turns;
  }

  async #turning(work: () => Promise<void>): Promise<void> {
    this.#turns += 1;
    try {
      await work().finally(() => {
        this.#turns += 1;
      });
    } catch (error) {
      throw await this.#options.explain(error);
    }
  }

  #holdTurn(held: boolean): void {
    this.#turns += 1;
    this.#held = held;
    this.#count();
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
