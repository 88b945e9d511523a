import { type Cancel, cancelled } from '../core/cancel.ts';

/** Something that changes while many wait: each is woken by the next change, none holds up another. */
export class Beacon {
  #next = Promise.withResolvers<void>();

  flash(): void {
    this.#next.resolve();
    this.#next = Promise.withResolvers();
  }

  /** Until the next change, or `cancelled`. `what` names what is waited for. */
  async changed(what: string, { signal }: Cancel = {}): Promise<void> {
    const next = this.#next.promise;
    if (signal === undefined) return next;
    if (signal.aborted) throw cancelled(what, signal.reason);
    const stop = Promise.withResolvers<never>();
    const cancel = () => stop.reject(cancelled(what, signal.reason));
    signal.addEventListener('abort', cancel, { once: true });
    try {
      await Promise.race([next, stop.promise]);
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }
}
