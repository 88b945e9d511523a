/** Maximum delay of deferred work: under steady load there may never be a quiet moment. */
const patienceMs = 5_000;

/** Opens when deferred work disturbs nobody. */
export class IdleGate {
  readonly #come: () => void;
  #disturbances = 0;
  #patience: NodeJS.Timeout | undefined;

  /** Calls `come` when it has become quiet, or when waiting longer is pointless. */
  constructor(come: () => void) {
    this.#come = come;
  }

  /** It is not quiet now, but may become so soon. */
  get isWorthWaitingFor(): boolean {
    return this.#patience !== undefined;
  }

  /** Counts as busy until the returned function is called. */
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
