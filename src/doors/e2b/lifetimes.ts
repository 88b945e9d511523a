import { isGeodeError } from '../../base/errors.ts';
import type { Log } from '../../base/log.ts';
import type { Sandboxes } from '../../seams/persistent.ts';
import type { E2bSandbox, E2bTable } from './e2b-table.ts';

/** For callers without a timeout. */
export const defaultLifetimeMs = 300_000;
/** How long a paused sandbox is protected from the host's sweep, and the maximum timeout of a running one. */
export const longestTimeoutMs = 30 * 86_400_000;
const retryMs = 10_000;
/** The maximum delay of a timer. */
const longestTimerMs = 2 ** 31 - 1;

/** Ends each sandbox when its lifetime is over: removes it, or pauses it if requested. */
export class Lifetimes implements Disposable {
  readonly #table: E2bTable;
  readonly #sandboxes: Sandboxes;
  readonly #log: Log;
  #timer: NodeJS.Timeout | undefined;
  #isEnding = false;
  #isOver = false;

  constructor(table: E2bTable, sandboxes: Sandboxes, log: Log) {
    this.#table = table;
    this.#sandboxes = sandboxes;
    this.#log = log;
    this.#await();
  }

  /** Takes effect now; null: no end until the next call. */
  async set({ id, user }: Pick<E2bSandbox, 'id' | 'user'>, timeoutMs: number | null): Promise<void> {
    this.#table.setEnd(id, timeoutMs === null ? null : Date.now() + timeoutMs);
    this.#await();
    if (timeoutMs !== 0) await this.#sandboxes.of(user).extend(id, timeoutMs ?? longestTimeoutMs);
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  /** Sandboxes that are just ending set the timer again when they are done. */
  #await(leastMs = 0): void {
    clearTimeout(this.#timer);
    if (this.#isOver || this.#isEnding) return;
    const ends = this.#table.list().flatMap(({ endAt }) => endAt ?? []);
    if (ends.length === 0) return;
    const ms = Math.min(Math.max(Math.min(...ends) - Date.now(), leastMs), longestTimerMs);
    this.#timer = setTimeout(() => void this.#tend(), ms).unref();
  }

  async #tend(): Promise<void> {
    this.#isEnding = true;
    const failures = await this.#endDue().catch((error: unknown) => {
      this.#log.error({ err: error }, 'the sandboxes to end cannot be read');
      return 1;
    });
    this.#isEnding = false;
    this.#await(failures > 0 ? retryMs : 0);
  }

  /** Returns how many could not be ended. */
  async #endDue(): Promise<number> {
    let failures = 0;
    for (const { id, user } of this.#table.list()) {
      // A caller may have extended or ended it by now.
      const sandbox = this.#isOver ? undefined : this.#table.get(user, id);
      if (sandbox === undefined || sandbox.endAt === null || sandbox.endAt > Date.now()) continue;
      try {
        await this.#end(sandbox);
      } catch (error) {
        failures += 1;
        this.#log.warn({ err: error, sandbox: id }, 'a sandbox could not be ended at its timeout');
      }
    }
    return failures;
  }

  async #end({ id, user, onTimeout }: E2bSandbox): Promise<void> {
    const sandboxes = this.#sandboxes.of(user);
    if (onTimeout === 'kill') {
      await sandboxes.remove(id);
      if (!this.#isOver) this.#table.remove(id);
      return;
    }
    try {
      await sandboxes[onTimeout](id);
    } catch (error) {
      // A runtime that cannot freeze at least keeps the files; a stopped sandbox needs no freezing.
      if (isGeodeError(error, 'cannot_enforce')) await sandboxes.stop(id);
      else if (isGeodeError(error, 'sandbox_not_found')) this.#table.remove(id);
      else if (!isGeodeError(error, 'sandbox_stopped')) throw error;
    }
    if (!this.#isOver) this.#table.setEnd(id, null);
  }
}
