import { isGeodeError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { Sandboxes } from '../../core/persistent.ts';
import type { E2bSandbox, E2bTable } from './e2b-table.ts';

/** Of a caller who names none. */
export const defaultTimeoutMs = 300_000;
const retryMs = 10_000;
/** Timers count no further. */
const longestTimerMs = 2 ** 31 - 1;

/** Ends each sandbox when its time is up: removes it, or pauses it where that was asked for. */
export class Lifetimes implements Disposable {
  readonly #table: E2bTable;
  readonly #sandboxes: Sandboxes;
  readonly #log: Log;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(table: E2bTable, sandboxes: Sandboxes, log: Log) {
    this.#table = table;
    this.#sandboxes = sandboxes;
    this.#log = log;
    this.#await();
  }

  /** From now on; null: until somebody says otherwise. */
  async set({ id, user }: Pick<E2bSandbox, 'id' | 'user'>, timeoutMs: number | null): Promise<void> {
    this.#table.setEnd(id, timeoutMs === null ? null : Date.now() + timeoutMs);
    if (timeoutMs !== null && timeoutMs > 0) await this.#sandboxes.of(user).extend(id, timeoutMs);
    this.#await();
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  #await(leastMs = 0): void {
    clearTimeout(this.#timer);
    const ends = this.#table.list().flatMap(({ endAt }) => endAt ?? []);
    if (this.#isOver || ends.length === 0) return;
    const ms = Math.min(Math.max(Math.min(...ends) - Date.now(), leastMs), longestTimerMs);
    this.#timer = setTimeout(() => void this.#endDue(), ms).unref();
  }

  async #endDue(): Promise<void> {
    const isDue = ({ endAt }: E2bSandbox) => endAt !== null && endAt <= Date.now();
    let failures = 0;
    for (const sandbox of this.#table.list().filter(isDue)) {
      try {
        await this.#end(sandbox);
      } catch (error) {
        failures += 1;
        this.#log.warn({ err: error, sandbox: sandbox.id }, 'a sandbox whose time is up could not be ended');
      }
    }
    this.#await(failures > 0 ? retryMs : 0);
  }

  async #end({ id, user, onTimeout }: E2bSandbox): Promise<void> {
    const sandboxes = this.#sandboxes.of(user);
    if (onTimeout === 'kill') {
      await sandboxes.remove(id);
      this.#table.remove(id);
      return;
    }
    try {
      await sandboxes[onTimeout](id);
      this.#table.setEnd(id, null);
    } catch (error) {
      if (!isGeodeError(error, 'sandbox_not_found')) throw error;
      this.#table.remove(id);
    }
  }
}
