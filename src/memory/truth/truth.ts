/**
 * The source of truth: one SQLite file. `transaction` makes all of its work happen or none of it; both
 * methods turn SQLite's errors into ours. What is read and written is in the files beside this one.
 */
import { statSync } from 'node:fs';
import type { DatabaseSync, SQLTagStore } from 'node:sqlite';
import { GeodeError } from '../../core/errors.ts';
import { truthFailure } from './failures.ts';
import { openTruth } from './schema.ts';

export type Sql = SQLTagStore;

export class Truth implements Disposable {
  readonly file: string;
  readonly #db: DatabaseSync;
  readonly #sql: Sql;

  constructor(file: string) {
    this.file = file;
    try {
      this.#db = openTruth(file);
    } catch (thrown) {
      throw truthFailure(thrown);
    }
    this.#sql = this.#db.createTagStore(100);
  }

  read<T>(work: (sql: Sql) => T): T {
    if (!this.#db.isOpen) throw new GeodeError('memory_down', 'Memory has been stopped.');
    try {
      return work(this.#sql);
    } catch (thrown) {
      throw truthFailure(thrown);
    }
  }

  transaction<T>(work: (sql: Sql) => T): T {
    return this.read((sql) => {
      this.#db.exec('BEGIN IMMEDIATE');
      try {
        const result = work(sql);
        this.#db.exec('COMMIT');
        return result;
      } catch (thrown) {
        // A full disk has already ended the transaction.
        if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
        throw thrown;
      }
    });
  }

  bytesOnDisk(): number {
    return [this.file, `${this.file}-wal`].reduce(
      (sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0),
      0,
    );
  }

  [Symbol.dispose](): void {
    if (this.#db.isOpen) this.#db.close();
  }
}
