import type { Chapter, Ledger } from '../../ledger/ledger.ts';

export const openTerminalChapter: Chapter = {
  name: 'open-terminal',
  changes: [
    `CREATE TABLE open_terminal_folders (
      user TEXT NOT NULL,
      sandbox TEXT NOT NULL,
      session TEXT NOT NULL,
      path TEXT NOT NULL,
      chosen_at INTEGER NOT NULL,
      PRIMARY KEY (user, sandbox, session)
    ) STRICT, WITHOUT ROWID`,
  ],
};

/** One chat of one person in one sandbox. */
export interface TerminalSession {
  readonly user: string;
  readonly sandbox: string;
  readonly session: string;
}

const keepMs = 7 * 24 * 3_600_000;

/** The working folder that each session chose, for a week. */
export class SessionFolders {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  get({ user, sandbox, session }: TerminalSession): string | undefined {
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT path FROM open_terminal_folders
        WHERE user = ${user} AND sandbox = ${sandbox} AND session = ${session}
        AND chosen_at > ${Date.now() - keepMs}`,
    );
    return row && String(row.path);
  }

  set({ user, sandbox, session }: TerminalSession, path: string): void {
    const now = Date.now();
    this.#ledger.write((sql) => {
      sql.run`DELETE FROM open_terminal_folders WHERE chosen_at <= ${now - keepMs}`;
      sql.run`INSERT INTO open_terminal_folders VALUES (${user}, ${sandbox}, ${session}, ${path}, ${now})
        ON CONFLICT DO UPDATE SET path = excluded.path, chosen_at = excluded.chosen_at`;
    });
  }
}
