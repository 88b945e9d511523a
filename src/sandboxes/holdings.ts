import type { Cancel } from '../core/cancel.ts';
import type { Runtime } from '../core/runtime.ts';
import type { Sandbox } from '../core/sandbox.ts';
import type { Entry } from './book.ts';
import { Held } from './held.ts';

/** The sandboxes that run in this host's hands. */
export class Holdings {
  readonly #held = new Map<string, Held>();

  /** One that has ended is let go of. */
  get(id: string): Held | undefined {
    const held = this.#held.get(id);
    if (held?.sandbox.end === undefined) return held;
    this.drop(id);
    void held.sandbox.release();
    return undefined;
  }

  running(): readonly Held[] {
    return [...this.#held.values()].filter(({ sandbox }) => sandbox.end === undefined);
  }

  put(held: Held): void {
    this.#held.set(held.sandbox.id, held);
  }

  drop(id: string): void {
    this.#held.delete(id);
  }

  /** With everything that goes on in it, if an earlier host left it running. One that is paused stays so. */
  async take({ user }: Entry, sandbox: Sandbox, runtime: Runtime, cancel: Cancel): Promise<Held> {
    try {
      const held = new Held(sandbox, user, runtime);
      if (held.pausedSince === undefined) await held.resume(cancel);
      this.put(held);
      return held;
    } catch (error) {
      await sandbox.release();
      throw error;
    }
  }

  /** Until when there was activity in each: now, while something goes on. */
  activity(now: number): ReadonlyMap<string, number> {
    return new Map(
      this.running().map(({ sandbox: { id }, activity: { open, endedAt } }) => [
        id,
        open > 0 ? now : endedAt,
      ]),
    );
  }

  /** Lets go of all; they live on. */
  async release(): Promise<void> {
    await Promise.all([...this.#held.values()].map(({ sandbox }) => sandbox.release()));
    this.#held.clear();
  }
}
