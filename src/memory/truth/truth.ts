/**
 * The source of truth: one SQLite file. A transaction does all of its work or none; SQLite's errors become
 * GeodeErrors. The files beside this one contain the queries.
 *
 * Nothing here blocks the thread for long: work of many steps has its own connection, so that reads continue between
 * the steps, and concurrent writers wait their turn.
 */
import { statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { GeodeError } from '../../base/errors.ts';
import type { Connection, Sql } from '../../ledger/connection.ts';
import { threadYielder } from '../yield-thread.ts';
import { truthFailure } from './failures.ts';
import { openTruth } from './schema.ts';

export type { Sql };

/** How long a writer waits for writers of other processes. */
const TURN_TIMEOUT_MS = 10_000;
const TURN_POLL_MS = 2;

export class Truth implements Disposable {
  readonly file: string;
  readonly #main: Connection;
  #long: Connection | null = null;
  /** Settles when the long work in progress has ended. */
  #longWork: Promise<unknown> | null = null;

  constructor(file: string) {
    this.file = file;
    this.#main = openTruth(file);
  }

  read<T>(work: (sql: Sql) => T): T {
    if (!this.#main.isOpen) throw new GeodeError('memory_down', 'Memory has been stopped.');
    try {
      return work(this.#main.sql);
    } catch (thrown) {
      throw truthFailure(thrown);
    }
  }

  async transaction<T>(work: (sql: Sql) => T): Promise<T> {
    for (const since = Date.now(); ; await delay(TURN_POLL_MS)) {
      while (this.#longWork !== null) await this.#longWork;
      // Synchronous from start to commit, because everyone in this process shares the connection.
      const result = this.read((sql) => {
        if (!this.#main.tryBegin(Date.now() - since > TURN_TIMEOUT_MS)) return null;
        return { value: this.#main.finish(() => work(sql)) };
      });
      if (result !== null) return result.value;
    }
  }

  /** Like `transaction`, but the work may yield and let others run. */
  async longTransaction<T>(work: (sql: Sql) => Generator<void, T>): Promise<T> {
    while (this.#longWork !== null) await this.#longWork;
    const result = this.#inSteps(work);
    this.#longWork = result
      .catch(() => undefined)
      .finally(() => {
        this.#longWork = null;
      });
    return result;
  }

  async #inSteps<T>(work: (sql: Sql) => Generator<void, T>): Promise<T> {
    const connection = this.read(() => (this.#long ??= openTruth(this.file)));
    const breathe = threadYielder();
    try {
      for (const since = Date.now(); !connection.tryBegin(Date.now() - since > TURN_TIMEOUT_MS); )
        await delay(TURN_POLL_MS);
      for (const steps = work(connection.sql); ; await breathe()) {
        const step = steps.next();
        if (step.done === true) return connection.finish(() => step.value);
      }
    } catch (thrown) {
      connection.rollBack();
      throw truthFailure(thrown);
    }
  }

  bytesOnDisk(): number {
    return [this.file, `${this.file}-wal`].reduce(
      (sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0),
      0,
    );
  }

  [Symbol.dispose](): void {
    this.#long?.[Symbol.dispose]();
    this.#main[Symbol.dispose]();
  }
}
