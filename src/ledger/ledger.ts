import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { GeodeError, isGeodeError, reasonOf } from '../base/errors.ts';
import { Connection, type ConnectionOptions, isDiskFull, type Sql } from './connection.ts';
import { type Chapter, migrate, versionOf } from './migrate.ts';

export type { Chapter };

/** A checkpoint waits for the disk, and the host waits with it: four times fewer than by default, for 16 MB of log. */
const checkpointPages = 4_000;

/**
 * The SQLite file with Geode's records. The records may be behind reality: reality changes first, the ledger records
 * it, and a reconcile pass brings them together.
 */
export class Ledger implements Disposable {
  readonly file: string;
  readonly #connection: Connection;

  /**
   * `read` needs an existing file and changes nothing, not even its format. Writes through a `durable` connection
   * survive a power cut too.
   */
  constructor(file: string, chapters: readonly Chapter[], access: 'write' | 'durable' | 'read' = 'write') {
    this.file = file;
    if (access === 'read') {
      this.#connection = this.#open({ readOnly: true, timeoutMs: 1_000 });
      for (const chapter of chapters) this.#checkUpToDate(chapter);
      return;
    }
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    // Read-only viewers lock the file briefly on close.
    this.#connection = this.#open({ timeoutMs: 1_000 });
    this.read(() => {
      // NORMAL: the death of the process loses nothing; after a power cut, reality shows the last changes.
      const synchronous = access === 'durable' ? 'FULL' : 'NORMAL';
      this.#connection.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous};
        PRAGMA wal_autocheckpoint = ${checkpointPages}`);
      migrate(this.#connection, chapters, () => {
        return new GeodeError('ledger_failed', `A newer Geode wrote the ledger ${file}.`, {
          hint: 'Update Geode, or set sandbox.state_dir to another folder.',
        });
      });
    });
  }

  #open(options?: ConnectionOptions): Connection {
    try {
      return new Connection(this.file, options);
    } catch (thrown) {
      throw this.#failure(thrown);
    }
  }

  read<T>(work: (sql: Sql) => T): T {
    try {
      return work(this.#connection.sql);
    } catch (thrown) {
      throw this.#failure(thrown);
    }
  }

  /** Runs the work in one transaction, all or nothing. */
  write<T>(work: (sql: Sql) => T): T {
    return this.read((sql) => this.#connection.transaction(() => work(sql)));
  }

  [Symbol.dispose](): void {
    this.#connection[Symbol.dispose]();
  }

  #checkUpToDate(chapter: Chapter): void {
    if (this.read(() => versionOf(this.#connection, chapter)) === chapter.changes.length) return;
    throw new GeodeError('ledger_failed', `Another version of Geode wrote the ledger ${this.file}.`, {
      hint: 'The next host updates it; stop the running host, if there is one.',
    });
  }

  #failure(thrown: unknown): GeodeError {
    if (isGeodeError(thrown)) return thrown;
    if (isDiskFull(thrown)) {
      return new GeodeError('disk_full', `The disk that holds the ledger is full; nothing was written.`, {
        hint: 'Free space on the disk of `sandbox.state_dir`, then try again.',
        cause: thrown,
      });
    }
    return new GeodeError('ledger_failed', `The ledger ${this.file} cannot be used: ${reasonOf(thrown)}.`, {
      cause: thrown,
    });
  }
}
