import type { Ledger } from '../ledger/ledger.ts';
import type { Sql } from '../ledger/sql.ts';

/** Messages that people send to a running turn, in the ledger until the turn has received them. */
export class Steers {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** A message that an earlier turn did not receive belongs to this turn now. */
  add(conversation: number, turn: string, { text, mark }: { readonly text: string; readonly mark: string }) {
    this.#ledger.write(
      (sql) => sql.run`INSERT INTO agent_steers (conversation, turn, mark, text)
        VALUES (${conversation}, ${turn}, ${mark}, ${text})
        ON CONFLICT (conversation, mark) DO UPDATE SET turn = excluded.turn WHERE taken = 0`,
    );
  }

  isTaken(conversation: number, mark: string): boolean {
    const row = this.#ledger.read(
      (sql) =>
        sql.get`SELECT taken FROM agent_steers WHERE conversation = ${conversation} AND mark = ${mark}`,
    );
    return row?.taken === 1;
  }
}

/** Messages that the turn has not received, in order. They count as received when the caller's transaction commits. */
export function takeSteers(sql: Sql, turn: string): readonly string[] {
  const texts = sql.all`SELECT text FROM agent_steers WHERE turn = ${turn} AND taken = 0 ORDER BY number`;
  sql.run`UPDATE agent_steers SET taken = 1 WHERE turn = ${turn} AND taken = 0`;
  return texts.map(({ text }) => String(text));
}
