import { z } from 'zod';
import type { Chapter, Ledger } from '../ledger/ledger.ts';
import type { PersistentSpec } from '../seams/persistent.ts';
import { type RuntimeName, runtimeNames } from '../seams/runtime.ts';

/** The ledger's row of a sandbox: its owner and its settings. Only the runtime knows whether it runs. */
export interface SandboxRow {
  readonly id: string;
  readonly user: string;
  readonly chat: string;
  readonly runtime: RuntimeName;
  readonly spec: PersistentSpec;
  readonly labels: Readonly<Record<string, string>>;
  readonly createdAt: number;
  /** When its last activity ended, as last recorded. */
  readonly activeAt: number;
  readonly keptUntil: number;
  readonly thinkingUntil: number;
  /** Marked for removal; whatever is left of it will be removed. */
  readonly removing: boolean;
}

export const sandboxChapter: Chapter = {
  name: 'sandboxes',
  changes: [
    `CREATE TABLE sandboxes (
      id TEXT PRIMARY KEY,
      user TEXT NOT NULL,
      chat TEXT NOT NULL,
      runtime TEXT NOT NULL,
      spec TEXT NOT NULL,
      labels TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      active_at INTEGER NOT NULL,
      kept_until INTEGER NOT NULL DEFAULT 0,
      thinking_until INTEGER NOT NULL DEFAULT 0,
      removing INTEGER NOT NULL DEFAULT 0,
      UNIQUE (user, chat)
    ) STRICT`,
    // Users whose sandboxes were moved to another user permanently.
    'CREATE TABLE moved_users (name TEXT PRIMARY KEY) STRICT',
  ],
};

const rowSchema = z.object({
  id: z.string(),
  user: z.string(),
  chat: z.string(),
  runtime: z.enum(runtimeNames),
  spec: z.string(),
  labels: z.string(),
  created_at: z.number(),
  active_at: z.number(),
  kept_until: z.number(),
  thinking_until: z.number(),
  removing: z.number(),
});

/** The sandboxes in the ledger. */
export class SandboxTable {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  find(user: string, chat: string): SandboxRow | undefined {
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT * FROM sandboxes WHERE user = ${user} AND chat = ${chat}`,
    );
    return row === undefined ? undefined : entryOf(row);
  }

  ofUser(user: string): readonly SandboxRow[] {
    const rows = this.#ledger.read(
      (sql) => sql.all`SELECT * FROM sandboxes WHERE user = ${user} ORDER BY created_at, id`,
    );
    return rows.map(entryOf);
  }

  all(): readonly SandboxRow[] {
    return this.#ledger.read((sql) => sql.all`SELECT * FROM sandboxes ORDER BY created_at, id`).map(entryOf);
  }

  add({
    id,
    user,
    chat,
    runtime,
    spec,
    labels,
    createdAt,
    activeAt,
  }: Omit<SandboxRow, 'keptUntil' | 'thinkingUntil' | 'removing'>): void {
    this.#ledger.write(
      (sql) => sql.run`INSERT INTO sandboxes (id, user, chat, runtime, spec, labels, created_at, active_at)
        VALUES (${id}, ${user}, ${chat}, ${runtime}, ${JSON.stringify(spec)}, ${JSON.stringify(labels)}, ${createdAt}, ${activeAt})`,
    );
  }

  remove(id: string): void {
    this.#ledger.write((sql) => sql.run`DELETE FROM sandboxes WHERE id = ${id}`);
  }

  /** From here on the removal will be completed, even if the host ends. */
  markRemoving(id: string): void {
    this.#ledger.write((sql) => sql.run`UPDATE sandboxes SET removing = 1 WHERE id = ${id}`);
  }

  noteActivity(times: ReadonlyMap<string, number>): void {
    if (times.size === 0) return;
    this.#ledger.write((sql) => {
      for (const [id, at] of times)
        sql.run`UPDATE sandboxes SET active_at = ${at} WHERE id = ${id} AND active_at < ${at}`;
    });
  }

  keepUntil(id: string, time: number): void {
    this.#ledger.write(
      (sql) => sql.run`UPDATE sandboxes SET kept_until = ${time} WHERE id = ${id} AND kept_until < ${time}`,
    );
  }

  thinkUntil(id: string, time: number): void {
    this.#ledger.write((sql) => sql.run`UPDATE sandboxes SET thinking_until = ${time} WHERE id = ${id}`);
  }

  label(id: string, labels: Readonly<Record<string, string>>): void {
    this.#ledger.write(
      (sql) => sql.run`UPDATE sandboxes SET labels = ${JSON.stringify(labels)} WHERE id = ${id}`,
    );
  }

  /** Gives a sandbox to another user. */
  give(id: string, user: string): void {
    this.#ledger.write((sql) => sql.run`UPDATE sandboxes SET user = ${user} WHERE id = ${id}`);
  }

  hasMoved(user: string): boolean {
    return this.#ledger.read((sql) => sql.get`SELECT 1 FROM moved_users WHERE name = ${user}`) !== undefined;
  }

  noteMoved(user: string): void {
    this.#ledger.write((sql) => sql.run`INSERT OR IGNORE INTO moved_users VALUES (${user})`);
  }

  rename(id: string, chat: string): void {
    this.#ledger.write((sql) => sql.run`UPDATE sandboxes SET chat = ${chat} WHERE id = ${id}`);
  }
}

function entryOf(row: unknown): SandboxRow {
  const { spec, labels, removing, ...facts } = rowSchema.parse(row);
  return {
    id: facts.id,
    user: facts.user,
    chat: facts.chat,
    runtime: facts.runtime,
    spec: JSON.parse(spec),
    labels: JSON.parse(labels),
    createdAt: facts.created_at,
    activeAt: facts.active_at,
    keptUntil: facts.kept_until,
    thinkingUntil: facts.thinking_until,
    removing: removing === 1,
  };
}
