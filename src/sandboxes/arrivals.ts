import { type Cancel, throwIfCancelled } from '../base/cancel.ts';
import { isGeodeError } from '../base/errors.ts';
import { Notifier } from '../base/notifier.ts';
import type { SandboxRow } from './sandbox-table.ts';

type Settle = (entry: SandboxRow, cancel: Cancel) => Promise<void>;

/**
 * Sandboxes of an earlier host that this one has not checked yet. The first caller that needs one settles it, in the
 * turn of its chat, without waiting for other sandboxes.
 */
export class Arrivals {
  readonly #waiting = new Map<string, string>();
  readonly #changed = new Notifier();
  #settle: Settle = async () => {};

  expect(entries: readonly SandboxRow[], settle: Settle): void {
    this.#settle = settle;
    for (const { id, user } of entries) this.#waiting.set(id, user);
  }

  has(id: string): boolean {
    return this.#waiting.has(id);
  }

  /** The user of each. */
  users(): readonly string[] {
    return [...this.#waiting.values()];
  }

  /** Runs in the chat's turn. If settling is cancelled, the next caller tries again. */
  async settle(entry: SandboxRow | undefined, cancel: Cancel): Promise<void> {
    if (entry === undefined || !this.#waiting.has(entry.id)) return;
    try {
      await this.#settle(entry, cancel);
    } catch (error) {
      if (isGeodeError(error, 'cancelled')) throw error;
    }
    throwIfCancelled(cancel.signal, 'Taking over the sandbox');
    this.#waiting.delete(entry.id);
    this.#changed.notify();
  }

  /** Waits until one sandbox fewer is pending. */
  fewer(cancel: Cancel): Promise<void> {
    return this.#changed.changed('Waiting for sandboxes that may run', cancel);
  }

  /** Stops checking the others. */
  end(): void {
    this.#waiting.clear();
    this.#changed.notify();
  }
}
