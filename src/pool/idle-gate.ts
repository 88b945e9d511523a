/** Longer than this nothing is put off: under steady load there may never be a quiet moment. */
const patienceMs = 5_000;

/** Opens when deferred work disturbs nobody. */
export class IdleGate {
  readonly #come: () => void;
  #disturbances = 0;
  #patience: NodeJS.Timeout | undefined;

  /** `come` is called when it has become quiet, and when it would be in vain to wait on for that. */
  constructor(come: () => void) {
    this.#come = come;
  }

  /** It is not quiet, and may become so soon. */
  get isWorthWaitingFor(): boolean {
    return this.#patience !== undefined;
  }

  /** Until the returned function is called, it is not quiet. */
  disturb(): () => void {
    this.#disturbances += 1;
    if (this.#disturbances === 1) this.#patience = setTimeout(() => this.#end(), patienceMs).unref();
    let over = false;
    return () => {
      if (over) return;
      over = true;
      this.#disturbances -= 1;
      if (this.#disturbances === 0) this.#end();
    };
  }

  #end(): void {
    clearTimeout(this.#patience);
    this.#patience = undefined;
    this.#come();
  }
}
