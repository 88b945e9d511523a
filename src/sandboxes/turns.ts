import { type Cancel, cancelled, throwIfCancelled } from '../core/cancel.ts';

/** One at a time, in the order of asking. A cancel while waiting gives up the place. */
export class Turns {
  #waiting: (() => void)[] = [];
  #taken = false;

  /** Resolves with the function that ends the turn. */
  async take(what: string, { signal }: Cancel): Promise<() => void> {
    throwIfCancelled(signal, what);
    if (!this.#taken) {
      this.#taken = true;
      return this.#ending();
    }
    await new Promise<void>((resolve, reject) => {
      const begin = () => {
        signal?.removeEventListener('abort', giveUp);
        resolve();
      };
      const giveUp = () => {
        this.#waiting = this.#waiting.filter((candidate) => candidate !== begin);
        reject(cancelled(what, signal?.reason));
      };
      this.#waiting.push(begin);
      signal?.addEventListener('abort', giveUp, { once: true });
    });
    return this.#ending();
  }

  #ending(): () => void {
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      const next = this.#waiting.shift();
      if (next === undefined) this.#taken = false;
      else next();
    };
  }
}
