import { type Cancel, cancelled, throwIfCancelled } from './cancel.ts';

export interface TurnWait extends Cancel {
  /** Names the cancelled thing: "The check". */
  readonly what?: string;
}

/** Runs tasks one at a time, or up to `places` at once, in the order of the calls. A failure does not stop the next. */
export class Turns {
  readonly #places: number;
  #waiting: (() => void)[] = [];
  #taken = 0;

  constructor(places = 1) {
    this.#places = places;
  }

  /** The turn is free and nobody waits for it. */
  get isFree(): boolean {
    return this.#taken === 0;
  }

  async in<T>(work: () => Promise<T>, waiting?: TurnWait): Promise<T> {
    using _turn = await this.take(waiting);
    return await work();
  }

  /** Waits for the turn and keeps it until the result is disposed of. A cancel during the wait gives up the place. */
  async take({ what = 'Waiting for the turn', signal }: TurnWait = {}): Promise<Disposable> {
    throwIfCancelled(signal, what);
    if (this.#taken === this.#places) await this.#place(what, signal);
    else this.#taken += 1;
    let ended = false;
    return {
      [Symbol.dispose]: () => {
        if (!ended) this.#passOn();
        ended = true;
      },
    };
  }

  #place(what: string, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
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
  }

  /** The turn stays taken while another caller waits, so a new caller comes after it. */
  #passOn(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#taken -= 1;
    else next();
  }
}
