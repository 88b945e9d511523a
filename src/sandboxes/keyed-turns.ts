import type { Cancel } from '../core/cancel.ts';
import { Turns } from './turns.ts';

/** One at a time for each key; different keys do not wait for each other. */
export class KeyedTurns {
  readonly #turns = new Map<string, { readonly turns: Turns; users: number }>();

  /** Somebody has the turn of it, or waits. */
  has(key: string): boolean {
    return this.#turns.has(key);
  }

  async in<T>(key: string, what: string, cancel: Cancel, work: () => Promise<T>): Promise<T> {
    const slot = this.#turns.get(key) ?? { turns: new Turns(), users: 0 };
    this.#turns.set(key, slot);
    slot.users += 1;
    try {
      const end = await slot.turns.take(what, cancel);
      try {
        return await work();
      } finally {
        end();
      }
    } finally {
      slot.users -= 1;
      if (slot.users === 0) this.#turns.delete(key);
    }
  }
}
