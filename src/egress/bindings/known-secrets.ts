/** Cache time, because another process may change the secrets. */
const freshMs = 2_000;
/** Number of users whose values are cached; others are read again. */
const mostUsers = 200;

/** The current values that must never be shown. Never throws: a secret that cannot be decrypted cannot leak. */
export class KnownSecrets {
  readonly #read: (user: string | null) => readonly string[];
  readonly #operator: readonly string[];
  readonly #kept = new Map<string | null, { readonly at: number; readonly values: readonly string[] }>();

  /** `operator`: keys of the config, hidden from everyone. */
  constructor(read: (user: string | null) => readonly string[], operator: readonly string[]) {
    this.#read = read;
    this.#operator = operator;
  }

  /** Values of one user and the operator; `null`: of all users. */
  of(user: string | null): readonly string[] {
    const kept = this.#kept.get(user);
    const now = performance.now();
    if (kept !== undefined && now - kept.at < freshMs) return kept.values;
    const values = [...this.#operator, ...this.#found(user, kept?.values ?? [])];
    if (this.#kept.size >= mostUsers) this.#kept.clear();
    this.#kept.set(user, { at: now, values });
    return values;
  }

  /** Clears the cache after a change in this process. */
  forget(): void {
    this.#kept.clear();
  }

  #found(user: string | null, before: readonly string[]): readonly string[] {
    try {
      return this.#read(user);
    } catch {
      return before;
    }
  }
}
