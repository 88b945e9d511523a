/** One connection to the memory file, and its transactions. */
import type { DatabaseSync, SQLTagStore } from 'node:sqlite';
import { isBusy, truthFailure } from './failures.ts';
import { BUSY_TIMEOUT_MS, openTruth } from './schema.ts';

const STATEMENTS = 100;

export class Connection {
  readonly sql: SQLTagStore;
  readonly #db: DatabaseSync;

  constructor(file: string) {
    try {
      this.#db = openTruth(file);
    } catch (thrown) {
      throw truthFailure(thrown);
    }
    this.sql = this.#db.createTagStore(STATEMENTS);
  }

  get isOpen(): boolean {
    return this.#db.isOpen;
  }

  /** False when another writer has its turn. SQLite's own waiting would stop the whole process. */
  tryBegin(lastTry: boolean): boolean {
    this.#db.exec('PRAGMA busy_timeout = 0');
    try {
      this.#db.exec('BEGIN IMMEDIATE');
      return true;
    } catch (thrown) {
      if (lastTry || !isBusy(thrown)) throw thrown;
      return false;
    } finally {
      this.#db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    }
  }

  finish<T>(work: () => T): T {
    try {
      const result = work();
      this.#db.exec('COMMIT');
      return result;
    } catch (thrown) {
      this.rollBack();
      throw thrown;
    }
  }

  /** Does nothing without a transaction: a full disk has already ended it. */
  rollBack(): void {
    if (this.#db.isOpen && this.#db.isTransaction) this.#db.exec('ROLLBACK');
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }
}
