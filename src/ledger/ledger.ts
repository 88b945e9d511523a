import { chmodSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { GeodeError, isGeodeError, reasonOf } from '../core/errors.ts';
import { Connection, type ConnectionOptions, isDiskFull, type Sql } from './connection.ts';

/** The tables of one part: changes in the order of their making. One that was published is never edited. */
export interface Chapter {
  readonly name: string;
  readonly changes: readonly string[];
}

/**
 * The SQLite file that remembers everything. What it says of the world may be behind the world: reality
 * moves first, the ledger records it, and a reconcile pass makes them agree.
 */
export class Ledger implements Disposable {
  readonly file: string;
  readonly #connection: Connection;

  /**
   * To `read` it there must be one already, and nothing is changed: not even brought up to date. What is written through
   * a `durable` one outlives a power cut too.
   */
  constructor(file: string, chapters: readonly Chapter[], access: 'write' | 'durable' | 'read' = 'write') {
    this.file = file;
    if (access === 'read') {
      this.#connection = this.#open({ readOnly: true, timeoutMs: 1_000 });
      for (const chapter of chapters) this.#checkUpToDate(chapter);
      return;
    }
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    // Who looks at it without being the host has it for a moment when it is closed.
    this.#connection = this.#open({ timeoutMs: 1_000 });
    this.read((sql) => {
      chmodSync(file, 0o600);
      // NORMAL: the death of the process loses nothing; after a power cut reality says what the last moments were.
      const synchronous = access === 'durable' ? 'FULL' : 'NORMAL';
      this.#connection.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}`);
      sql.run`CREATE TABLE IF NOT EXISTS chapters (name TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT`;
    });
    for (const chapter of chapters) this.#bringUpToDate(chapter);
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

  /** All of the work or none of it. */
  write<T>(work: (sql: Sql) => T): T {
    return this.read((sql) => this.#connection.transaction(() => work(sql)));
  }

  [Symbol.dispose](): void {
    this.#connection[Symbol.dispose]();
  }

  #checkUpToDate({ name, changes }: Chapter): void {
    const version = this.read((sql) => sql.get`SELECT version FROM chapters WHERE name = ${name}`?.version);
    if (version === changes.length) return;
    throw new GeodeError('ledger_failed', `The ledger ${this.file} was written by another Geode.`, {
      hint: 'The next host brings it up to date; end the one that holds it, if there is one.',
    });
  }

  #bringUpToDate({ name, changes }: Chapter): void {
    this.write((sql) => {
      const version = Number(sql.get`SELECT version FROM chapters WHERE name = ${name}`?.version ?? 0);
      if (version > changes.length) {
        throw new GeodeError('ledger_failed', `The ledger ${this.file} was written by a newer Geode.`, {
          hint: 'Update Geode, or set sandbox.state_dir to another folder.',
        });
      }
      for (const change of changes.slice(version)) this.#connection.exec(change);
      sql.run`INSERT INTO chapters VALUES (${name}, ${changes.length})
        ON CONFLICT (name) DO UPDATE SET version = excluded.version`;
    });
  }

  #failure(thrown: unknown): GeodeError {
    if (isGeodeError(thrown)) return thrown;
    if (isDiskFull(thrown)) {
      return new GeodeError('disk_full', `The disk that holds the ledger is full; nothing was written.`, {
        hint: 'Free space where `sandbox.state_dir` is, then try again.',
        cause: thrown,
      });
    }
    return new GeodeError('ledger_failed', `The ledger ${this.file} cannot be used: ${reasonOf(thrown)}.`, {
      cause: thrown,
    });
  }
}
