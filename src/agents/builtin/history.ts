import type { Ledger } from '../../ledger/ledger.ts';
import type { Sql } from '../../ledger/sql.ts';
import type { ModelMessage } from '../../seams/model.ts';
import { takeSteers } from '../steers.ts';

export interface KeptMessage {
  readonly number: number;
  readonly turn: string;
  readonly message: ModelMessage;
}

/** Replaces the messages up to a number. */
export interface Summary {
  readonly upto: number;
  readonly text: string;
}

/** The messages of a conversation, in the ledger. Each message is stored completely before the next step starts. */
export class History {
  readonly #ledger: Ledger;
  readonly #conversation: number;
  readonly turn: string;

  constructor(ledger: Ledger, conversation: number, turn: string) {
    this.#ledger = ledger;
    this.#conversation = conversation;
    this.turn = turn;
  }

  /** Messages after a number. */
  after(number: number): readonly KeptMessage[] {
    return this.#ledger
      .read(
        (sql) => sql.all`SELECT number, turn, message FROM agent_messages
          WHERE conversation = ${this.#conversation} AND number > ${number} ORDER BY number`,
      )
      .map((row) => ({
        number: Number(row.number),
        turn: String(row.turn),
        message: JSON.parse(String(row.message)) as ModelMessage,
      }));
  }

  get last(): ModelMessage | undefined {
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT message FROM agent_messages WHERE conversation = ${this.#conversation}
        ORDER BY number DESC LIMIT 1`,
    );
    return row && (JSON.parse(String(row.message)) as ModelMessage);
  }

  /** Messages of this turn. */
  get isBegun(): boolean {
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT number FROM agent_messages
        WHERE conversation = ${this.#conversation} AND turn = ${this.turn} LIMIT 1`,
    );
    return row !== undefined;
  }

  /** Messages that this turn has added so far. */
  get ofTurn(): readonly ModelMessage[] {
    return this.#ledger
      .read(
        (sql) => sql.all`SELECT message FROM agent_messages
          WHERE conversation = ${this.#conversation} AND turn = ${this.turn} ORDER BY number`,
      )
      .map(({ message }) => JSON.parse(String(message)) as ModelMessage);
  }

  get summary(): Summary | undefined {
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT upto, text FROM agent_summaries WHERE conversation = ${this.#conversation}`,
    );
    return row && { upto: Number(row.upto), text: String(row.text) };
  }

  set summary(summary: Summary) {
    this.#ledger.write(
      (sql) => sql.run`INSERT INTO agent_summaries
        VALUES (${this.#conversation}, ${summary.upto}, ${summary.text}, ${Date.now()})
        ON CONFLICT (conversation) DO UPDATE SET upto = excluded.upto, text = excluded.text, at = excluded.at`,
    );
  }

  add(message: ModelMessage): void {
    this.#ledger.write((sql) => this.#insert(sql, message));
  }

  /** Adds messages that people sent since the last step to the turn. Returns false without new messages. */
  takeSteers(): boolean {
    return this.#ledger.write((sql) => {
      const steers = takeSteers(sql, this.turn);
      if (steers.length > 0) this.#insert(sql, { role: 'user', text: steers.join('\n\n') });
      return steers.length > 0;
    });
  }

  #insert(sql: Sql, message: ModelMessage): void {
    const last = sql.get`SELECT max(number) AS number FROM agent_messages
      WHERE conversation = ${this.#conversation}`;
    sql.run`INSERT INTO agent_messages VALUES (${this.#conversation}, ${Number(last?.number ?? 0) + 1},
      ${this.turn}, ${JSON.stringify(message)})`;
  }
}
