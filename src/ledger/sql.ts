import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';

/**
 * Prepared statements from template literals, one for each literal and connection. The tag store of `node:sqlite` is
 * not used: its statements outlive the connection, which keeps the file open and locks it when they are collected.
 */
export class Sql {
  readonly db: DatabaseSync;
  /** One text for each place in the code. */
  readonly #statements = new Map<TemplateStringsArray | string, StatementSync>();

  constructor(db: DatabaseSync) {
    this.db = db;
  }

  get(text: TemplateStringsArray, ...values: SQLInputValue[]) {
    return this.#statement(text).get(...values);
  }

  all(text: TemplateStringsArray, ...values: SQLInputValue[]) {
    return this.#statement(text).all(...values);
  }

  run(text: TemplateStringsArray, ...values: SQLInputValue[]) {
    return this.#statement(text).run(...values);
  }

  /** For a text assembled from parts of the code; its values are `?`. */
  prepared(text: string): StatementSync {
    return this.#made(text, () => text);
  }

  #statement(text: TemplateStringsArray): StatementSync {
    return this.#made(text, () => text.join('?'));
  }

  #made(key: TemplateStringsArray | string, textOf: () => string): StatementSync {
    const known = this.#statements.get(key);
    if (known !== undefined) return known;
    const made = this.db.prepare(textOf());
    this.#statements.set(key, made);
    return made;
  }
}
