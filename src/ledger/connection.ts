import { DatabaseSync } from 'node:sqlite';
import { makePrivate } from '../machine/private-file.ts';
import { Sql } from './sql.ts';

export type { Sql };

const SQLITE_BUSY = 5;
const SQLITE_FULL = 13;

export interface ConnectionOptions {
  /** How long a statement waits while another connection writes; the whole process waits with it. */
  readonly timeoutMs?: number;
  readonly readOnly?: boolean;
}

/** One connection to a SQLite file, and its transactions. SQLite's errors are thrown unchanged. */
export class Connection implements Disposable {
  readonly sql: Sql;
  readonly #db: DatabaseSync;
  readonly #timeoutMs: number;

  constructor(file: string, { timeoutMs = 0, readOnly = false }: ConnectionOptions = {}) {
    if (!readOnly) makePrivate(file);
    this.#db = new DatabaseSync(file, { timeout: timeoutMs, readOnly });
    // Keep temporary results of statements in memory: a killed process would leave their file and its content in the
    // temporary folder.
    this.#db.exec('PRAGMA temp_store = MEMORY');
    this.sql = new Sql(this.#db);
    this.#timeoutMs = timeoutMs;
  }

  /** For what SQLite does with a whole file. */
  get database(): DatabaseSync {
    return this.#db;
  }

  get isOpen(): boolean {
    return this.#db.isOpen;
  }

  /** Any number of statements, without values. */
  exec(statements: string): void {
    this.#db.exec(statements);
  }

  /** Runs the work in one transaction, all or nothing. */
  transaction<T>(work: () => T): T {
    this.#db.exec('BEGIN IMMEDIATE');
    return this.finish(work);
  }

  /** Starts a transaction; false if another writer is active. SQLite's own waiting would block the whole process. */
  tryBegin(lastTry: boolean): boolean {
    this.#db.exec('PRAGMA busy_timeout = 0');
    try {
      this.#db.exec('BEGIN IMMEDIATE');
      return true;
    } catch (thrown) {
      if (lastTry || !isBusy(thrown)) throw thrown;
      return false;
    } finally {
      this.#db.exec(`PRAGMA busy_timeout = ${this.#timeoutMs}`);
    }
  }

  /** The last work of a started transaction. */
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

  [Symbol.dispose](): void {
    if (this.#db.isOpen) this.#db.close();
  }
}

export function isDiskFull(thrown: unknown): boolean {
  return sqliteCode(thrown) === SQLITE_FULL;
}

/** Another connection is writing. */
function isBusy(thrown: unknown): boolean {
  return sqliteCode(thrown) === SQLITE_BUSY;
}

function sqliteCode(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error) || !('errcode' in thrown) || typeof thrown.errcode !== 'number')
    return undefined;
  // The low byte is the primary code; the rest says where it happened.
  return thrown.errcode & 0xff;
}
