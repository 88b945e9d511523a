import { type Cancel, throwIfCancelled } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import { Notifier } from '../base/notifier.ts';
import type { QueueEvent } from '../seams/run.ts';

export interface QueueOptions {
  /** Maximum runs at once. */
  readonly concurrency: number;
  /** Maximum waiting runs; more are refused with `queue_full`. */
  readonly mostWaiting: number;
}

interface Waiter {
  granted: boolean;
}

/** A place among the active runs. Disposing of it lets the next one in. */
export type Turn = Disposable;

/**
 * The queue of runs. Users take turns, however many runs each has queued: a user with a thousand queued runs delays
 * another user's first run by one turn.
 */
export class FairQueue {
  readonly #options: QueueOptions;
  readonly #lines = new Map<string, Waiter[]>();
  readonly #moved = new Notifier();
  #running = 0;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return [...this.#lines.values()].reduce((sum, line) => sum + line.length, 0);
  }

  /** Yields the waiter's position (1 is next) each time it changes; returns when it is its turn. */
  async *wait(user: string, { signal }: Cancel = {}): AsyncGenerator<QueueEvent, Turn> {
    throwIfCancelled(signal, 'Waiting for a turn');
    if (this.#running < this.#options.concurrency) return this.#begin();
    if (this.waiting >= this.#options.mostWaiting) {
      throw new GeodeError('queue_full', `${this.waiting} runs are already waiting, the maximum.`);
    }
    const waiter: Waiter = { granted: false };
    this.#lines.set(user, [...(this.#lines.get(user) ?? []), waiter]);
    this.#moved.notify();
    let taken = false;
    try {
      let reported = 0;
      while (!waiter.granted) {
        const place = this.#placeOf(user, waiter);
        if (place !== reported) {
          reported = place;
          yield { type: 'queue-place', place };
        } else await this.#moved.changed('Waiting for a turn', { signal });
      }
      taken = true;
      return turn(() => this.#end());
    } finally {
      if (!taken) this.#leave(user, waiter);
    }
  }

  /** Goes through the users in rounds: in each round, everyone ahead moves up by one. */
  #placeOf(user: string, waiter: Waiter): number {
    const users = [...this.#lines.keys()];
    const mine = users.indexOf(user);
    const ahead = this.#lines.get(user)?.indexOf(waiter) ?? 0;
    return [...this.#lines.values()].reduce((place, line, index) => {
      if (index === mine) return place + ahead;
      return place + Math.min(line.length, index < mine ? ahead + 1 : ahead);
    }, 1);
  }

  #begin(): Turn {
    this.#running += 1;
    return turn(() => this.#end());
  }

  #end(): void {
    this.#running -= 1;
    const [next] = this.#lines;
    if (next === undefined) return;
    const [user, [waiter, ...rest]] = next;
    this.#lines.delete(user);
    // Goes to the end: it has had its turn in this round.
    if (rest.length > 0) this.#lines.set(user, rest);
    if (waiter !== undefined) {
      waiter.granted = true;
      this.#running += 1;
    }
    this.#moved.notify();
  }

  #leave(user: string, waiter: Waiter): void {
    if (waiter.granted) {
      this.#end();
      return;
    }
    const rest = (this.#lines.get(user) ?? []).filter((other) => other !== waiter);
    if (rest.length > 0) this.#lines.set(user, rest);
    else this.#lines.delete(user);
    this.#moved.notify();
  }
}

function turn(end: () => void): Turn {
  let over = false;
  return {
    [Symbol.dispose]() {
      if (!over) end();
      over = true;
    },
  };
}
