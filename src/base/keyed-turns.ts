import { Turns, type Waiting } from './turns.ts';

/** One at a time for each key, in the order of asking; different keys do not wait for each other. */
export class KeyedTurns {
  readonly #turns = new Map<string, Turns>();

  /** Somebody has the turn of it, or waits. */
  has(key: string): boolean {
    return this.#turns.has(key);
  }

  /** In the turns of all the keys. The call has its place in each at once: no two wait for each other. */
  async in<T>(keys: readonly string[], work: () => Promise<T>, waiting?: Waiting): Promise<T> {
    const own = [...new Set(keys)];
    try {
      const places = await Promise.allSettled(own.map((key) => this.#of(key).take(waiting)));
      using taken = new DisposableStack();
      for (const place of places) if (place.status === 'fulfilled') taken.use(place.value);
      const refused = places.find((place) => place.status === 'rejected');
      if (refused !== undefined) throw refused.reason;
      return await work();
    } finally {
      for (const key of own) if (this.#turns.get(key)?.isFree) this.#turns.delete(key);
    }
  }

  #of(key: string): Turns {
    const turns = this.#turns.get(key) ?? new Turns();
    this.#turns.set(key, turns);
    return turns;
  }
}
