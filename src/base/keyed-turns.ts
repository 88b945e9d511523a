import { Turns, type TurnWait } from './turns.ts';

/** One at a time for each key, in the order of the calls; different keys do not wait for each other. */
export class KeyedTurns {
  readonly #turns = new Map<string, Turns>();

  /** The turn of the key is taken or awaited. */
  has(key: string): boolean {
    return this.#turns.has(key);
  }

  /**
   * Takes the turns of all the keys. The call joins every queue at the same moment, so two calls cannot block each
   * other.
   */
  async in<T>(keys: readonly string[], work: () => Promise<T>, waiting?: TurnWait): Promise<T> {
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
