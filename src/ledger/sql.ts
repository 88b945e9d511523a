import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';

/**
 * Statements as they stand in the code, each made once for a connection. The tag store of `node:sqlite` is not used:
 * its statements outlive the end of the connection, which keeps the file open and locks it when they are collected.
 */
export class Sql {
  readonly db: DatabaseSync;
  /** There is one text for each place in the code. */
  readonly #statements = new Map<TemplateStringsArray, StatementSync>();

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

  #statement(text: TemplateStringsArray): StatementSync {
    const known = this.#statements.get(text);
    if (known !== undefined) return known;
    const made = this.db.prepare(text.join('?'));
    this.#statements.set(text, made);
    return made;
  }
}
