import type { Ledger } from '../ledger/ledger.ts';
import type { ChatAction, ChatAuditRecord } from '../seams/chat.ts';

type Sql = Parameters<Parameters<Ledger['write']>[0]>[0];

/** The permanent record of changes. A record is written in the transaction of its change. */
export class ChatAudit {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  note(sql: Sql, { at, by, deed, detail }: ChatAuditRecord): void {
    sql.run`INSERT INTO chat_audit (at, by, deed, detail) VALUES (${at}, ${by}, ${deed}, ${JSON.stringify(detail)})`;
  }

  /** Newest first. */
  list(limit: number): readonly ChatAuditRecord[] {
    return this.#ledger
      .read((sql) => sql.all`SELECT * FROM chat_audit ORDER BY id DESC LIMIT ${limit}`)
      .map(({ at, by, deed, detail }) => ({
        at: Number(at),
        by: String(by),
        deed: String(deed) as ChatAction,
        detail: JSON.parse(String(detail)) as ChatAuditRecord['detail'],
      }));
  }
}
