/** Wakes whoever waits for the next change. It rings for those who wait now; nothing is remembered. */
export class Bell {
  readonly #waiting = new Set<() => void>();

  ring(): void {
    if (this.#waiting.size === 0) return;
    const woken = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of woken) wake();
  }

  /** Until the next ring or the abort; the caller looks at the signal itself. */
  async next(signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => resolve();
    this.#waiting.add(wake);
    signal?.addEventListener('abort', wake, { once: true });
    await promise;
    signal?.removeEventListener('abort', wake);
    this.#waiting.delete(wake);
  }
}
