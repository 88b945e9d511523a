import type { ModelMessage } from '../../core/model.ts';
import type { Ledger } from '../../ledger/ledger.ts';

/** What a model is told of a conversation, in the ledger. Each message is kept before the next step is taken. */
export class History {
  readonly #ledger: Ledger;
  readonly #conversation: number;
  readonly #turn: string;

  constructor(ledger: Ledger, conversation: number, turn: string) {
    this.#ledger = ledger;
    this.#conversation = conversation;
    this.#turn = turn;
  }

  all(): readonly ModelMessage[] {
    return this.#ledger
      .read(
        (sql) => sql.all`SELECT message FROM agent_messages WHERE conversation = ${this.#conversation}
          ORDER BY number`,
      )
      .map(({ message }) => JSON.parse(String(message)) as ModelMessage);
  }

  /** Of this turn. */
  get isBegun(): boolean {
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT number FROM agent_messages
        WHERE conversation = ${this.#conversation} AND turn = ${this.#turn} LIMIT 1`,
    );
    return row !== undefined;
  }

  /** Messages of this turn. */
  get length(): number {
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT count(*) AS count FROM agent_messages
        WHERE conversation = ${this.#conversation} AND turn = ${this.#turn}`,
    );
    return Number(row?.count ?? 0);
  }

  add(message: ModelMessage): void {
    this.#ledger.write((sql) => {
      const last = sql.get`SELECT max(number) AS number FROM agent_messages
        WHERE conversation = ${this.#conversation}`;
      sql.run`INSERT INTO agent_messages VALUES (${this.#conversation}, ${Number(last?.number ?? 0) + 1},
        ${this.#turn}, ${JSON.stringify(message)})`;
    });
  }
}

/**
 * The messages that fit into so many characters, newest first. Whole turns are left out, so that a call is never parted
 * from its result; the last turn always stays.
 */
export function fitting(messages: readonly ModelMessage[], characters: number): readonly ModelMessage[] {
  const starts = messages.flatMap(({ role }, index) => (role === 'user' ? [index] : []));
  let from = starts.at(-1) ?? 0;
  for (const start of starts.toReversed()) {
    if (sizeOf(messages.slice(start)) > characters) break;
    from = start;
  }
  return messages.slice(from);
}

function sizeOf(messages: readonly ModelMessage[]): number {
  return messages.reduce((sum, message) => sum + JSON.stringify(message).length, 0);
}
