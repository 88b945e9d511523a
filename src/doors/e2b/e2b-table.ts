import { randomBytes } from 'node:crypto';
import type { Chapter, Ledger } from '../../ledger/ledger.ts';

export const e2bChapter: Chapter = {
  name: 'e2b',
  changes: [
    `CREATE TABLE e2b_sandboxes (
      id TEXT PRIMARY KEY,
      user TEXT NOT NULL,
      kind TEXT NOT NULL,
      template TEXT NOT NULL,
      name TEXT,
      metadata TEXT NOT NULL,
      started_at INTEGER NOT NULL,
      end_at INTEGER,
      on_timeout TEXT NOT NULL,
      auto_resume INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX e2b_sandboxes_user ON e2b_sandboxes (user, started_at);
    CREATE TABLE e2b_secret (value BLOB NOT NULL) STRICT`,
    `ALTER TABLE e2b_sandboxes ADD COLUMN is_private INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE e2b_sandboxes ADD COLUMN shown_host TEXT`,
  ],
};

const timeoutActions = ['kill', 'pause', 'stop'] as const;

/** A sandbox created through the E2B API. Its id is also the name of its chat. */
export interface E2bSandbox {
  readonly id: string;
  readonly user: string;
  /** A snapshot is a stopped sandbox from which others are created. */
  readonly kind: 'sandbox' | 'snapshot';
  /** The caller's name for it. */
  readonly template: string;
  /** The caller's name for a snapshot. */
  readonly name: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly startedAt: number;
  /** When its lifetime ends, in ms since 1970; null while it is paused, and for a snapshot. */
  readonly endAt: number | null;
  /** `stop`: paused without its processes. */
  readonly onTimeout: (typeof timeoutActions)[number];
  /** Whether a request resumes it while it is paused. */
  readonly autoResume: boolean;
  /** Its servers need the token of the sandbox, also under their own names. */
  readonly isPrivate: boolean;
  /** The host that its servers get in place of their own name; `${PORT}` stands for the port. */
  readonly shownHost: string | null;
}

export class E2bTable {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  add(sandbox: E2bSandbox): void {
    const { id, user, kind, template, name, startedAt, endAt, onTimeout } = sandbox;
    this.#ledger.write(
      (sql) => sql.run`INSERT INTO e2b_sandboxes VALUES (${id}, ${user}, ${kind}, ${template}, ${name},
        ${JSON.stringify(sandbox.metadata)}, ${startedAt}, ${endAt}, ${onTimeout}, ${Number(sandbox.autoResume)},
        ${Number(sandbox.isPrivate)}, ${sandbox.shownHost})`,
    );
  }

  get(user: string, id: string): E2bSandbox | undefined {
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT * FROM e2b_sandboxes WHERE id = ${id} AND user = ${user}`,
    );
    return row && sandboxOf(row);
  }

  /** Of any user: only for requests that name nobody. */
  find(id: string): E2bSandbox | undefined {
    const row = this.#ledger.read((sql) => sql.get`SELECT * FROM e2b_sandboxes WHERE id = ${id}`);
    return row && sandboxOf(row);
  }

  /** Oldest first; of all users if none is given. */
  list(user?: string): readonly E2bSandbox[] {
    return this.#ledger
      .read(
        (sql) => sql.all`SELECT * FROM e2b_sandboxes
          WHERE ${user ?? null} IS NULL OR user = ${user ?? null} ORDER BY started_at, id`,
      )
      .map(sandboxOf);
  }

  /** Open sandboxes with their users, without snapshots; used to check signatures. */
  openOnes(): readonly Pick<E2bSandbox, 'id' | 'user'>[] {
    return this.#ledger
      .read((sql) => sql.all`SELECT id, user FROM e2b_sandboxes WHERE kind = 'sandbox'`)
      .map(({ id, user }) => ({ id: String(id), user: String(user) }));
  }

  setEnd(id: string, endAt: number | null): void {
    this.#ledger.write((sql) => sql.run`UPDATE e2b_sandboxes SET end_at = ${endAt} WHERE id = ${id}`);
  }

  remove(id: string): void {
    this.#ledger.write((sql) => sql.run`DELETE FROM e2b_sandboxes WHERE id = ${id}`);
  }

  /** The host's secret, created once, from which tokens of sandboxes are derived. */
  secret(): Uint8Array {
    return this.#ledger.write((sql) => {
      const known = sql.get`SELECT value FROM e2b_secret`?.value;
      if (known instanceof Uint8Array) return known;
      const made = randomBytes(32);
      sql.run`INSERT INTO e2b_secret VALUES (${made})`;
      return made;
    });
  }
}

function sandboxOf(row: Readonly<Record<string, unknown>>): E2bSandbox {
  return {
    id: String(row.id),
    user: String(row.user),
    kind: row.kind === 'snapshot' ? 'snapshot' : 'sandbox',
    template: String(row.template),
    name: row.name === null ? null : String(row.name),
    metadata: JSON.parse(String(row.metadata)) as Record<string, string>,
    startedAt: Number(row.started_at),
    endAt: row.end_at === null ? null : Number(row.end_at),
    onTimeout: timeoutActions.find((action) => action === row.on_timeout) ?? 'kill',
    autoResume: Number(row.auto_resume) === 1,
    isPrivate: Number(row.is_private) === 1,
    shownHost: row.shown_host === null ? null : String(row.shown_host),
  };
}
