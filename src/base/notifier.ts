import { type Cancel, cancelled, onAbort } from './cancel.ts';

/** Wakes all current waiters at the next change. A change without waiters is not stored. */
export class Notifier {
  readonly #waiting = new Set<() => void>();

  notify(): void {
    if (this.#waiting.size === 0) return;
    const woken = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of woken) wake();
  }

  /** Waits for the next change or the abort; the caller checks the signal. */
  async next(signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => resolve();
    this.#waiting.add(wake);
    using _watching = onAbort(signal, wake);
    await promise;
    this.#waiting.delete(wake);
  }

  /** Waits for the next change, or throws `cancelled`. `what` names the awaited thing for the error. */
  async changed(what: string, { signal }: Cancel = {}): Promise<void> {
    await this.next(signal);
    if (signal?.aborted) throw cancelled(what, signal.reason);
  }
}
