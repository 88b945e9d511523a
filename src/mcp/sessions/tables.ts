/** The ledger's tables of tool sessions: open sessions, and all calls. */
import { z } from 'zod';
import type { Chapter, Ledger } from '../../ledger/ledger.ts';
import type { ToolCallRecord, ToolSession } from '../../seams/tools.ts';

export const toolChapter: Chapter = {
  name: 'tools',
  changes: [
    `CREATE TABLE tool_sessions (
      id TEXT PRIMARY KEY,
      sandbox_id TEXT NOT NULL UNIQUE,
      user TEXT NOT NULL,
      chat TEXT NOT NULL,
      tools TEXT NOT NULL,
      created_at INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE tool_calls (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      at INTEGER NOT NULL,
      user TEXT NOT NULL,
      chat TEXT NOT NULL,
      sandbox_id TEXT NOT NULL,
      session_id TEXT NOT NULL,
      tool TEXT NOT NULL,
      arguments TEXT NOT NULL,
      outcome TEXT NOT NULL,
      duration_ms INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX tool_calls_user ON tool_calls (user, id)`,
  ],
};

const sessionSchema = z.object({
  id: z.string(),
  sandbox_id: z.string(),
  user: z.string(),
  chat: z.string(),
  tools: z.string(),
  created_at: z.number(),
});
const toolsSchema = z.array(z.string());

export class SessionTable {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** Oldest first. */
  all(): readonly ToolSession[] {
    return this.#ledger
      .read((sql) => sql.all`SELECT * FROM tool_sessions ORDER BY created_at, id`)
      .map((row) => {
        const { sandbox_id, created_at, tools, ...rest } = sessionSchema.parse(row);
        const names = toolsSchema.parse(JSON.parse(tools));
        return { ...rest, sandboxId: sandbox_id, createdAt: created_at, tools: names };
      });
  }

  set({ id, sandboxId, user, chat, tools, createdAt }: ToolSession): void {
    this.#ledger.write((sql) => {
      sql.run`DELETE FROM tool_sessions WHERE sandbox_id = ${sandboxId}`;
      sql.run`INSERT INTO tool_sessions
        VALUES (${id}, ${sandboxId}, ${user}, ${chat}, ${JSON.stringify(tools)}, ${createdAt})`;
    });
  }

  remove(sandboxId: string): void {
    this.#ledger.write((sql) => sql.run`DELETE FROM tool_sessions WHERE sandbox_id = ${sandboxId}`);
  }
}

export interface CallLimits {
  readonly mostRecords: number;
  readonly keepMs: number;
}

const callSchema = z.object({
  at: z.number(),
  user: z.string(),
  chat: z.string(),
  sandbox_id: z.string(),
  session_id: z.string(),
  tool: z.string(),
  arguments: z.string(),
  outcome: z.string(),
  duration_ms: z.number(),
});

/** How many records are written between two checks of the limits. */
const pruneEvery = 200;

/** More than are written in between, so that old records decrease. */
const mostPruned = 5 * pruneEvery;

/** Every call of a tool. Records are never changed, and are only deleted by age and number. */
export class CallAudit {
  readonly #ledger: Ledger;
  readonly #limits: CallLimits;
  #untilPrune = 0;

  constructor(ledger: Ledger, limits: CallLimits) {
    this.#ledger = ledger;
    this.#limits = limits;
  }

  /** Stores all of them in one commit. */
  add(records: readonly ToolCallRecord[]): void {
    if (records.length === 0) return;
    this.#ledger.write((sql) => {
      for (const record of records) {
        const { at, user, chat, sandboxId, sessionId, tool, outcome, durationMs } = record;
        sql.run`INSERT INTO tool_calls (at, user, chat, sandbox_id, session_id, tool, arguments, outcome, duration_ms)
          VALUES (${at}, ${user}, ${chat}, ${sandboxId}, ${sessionId}, ${tool}, ${record.arguments}, ${outcome}, ${durationMs})`;
      }
    });
    this.#untilPrune -= records.length;
    if (this.#untilPrune > 0) return;
    this.#untilPrune = pruneEvery;
    this.#prune();
  }

  /** Newest first. */
  search(user: string, chat: string | undefined, limit: number): readonly ToolCallRecord[] {
    const rows = this.#ledger.read(
      (sql) => sql.all`SELECT * FROM tool_calls
        WHERE user = ${user} AND (${chat ?? null} IS NULL OR chat = ${chat ?? null})
        ORDER BY id DESC LIMIT ${limit}`,
    );
    return rows.map((row) => {
      const { sandbox_id, session_id, duration_ms, ...rest } = callSchema.parse(row);
      return { ...rest, sandboxId: sandbox_id, sessionId: session_id, durationMs: duration_ms };
    });
  }

  #prune(): void {
    const { mostRecords, keepMs } = this.#limits;
    this.#ledger.write((sql) => {
      // Only the oldest are checked: checking all would block everybody.
      sql.run`DELETE FROM tool_calls WHERE at < ${Date.now() - keepMs}
        AND id IN (SELECT id FROM tool_calls ORDER BY id LIMIT ${mostPruned})`;
      sql.run`DELETE FROM tool_calls WHERE id <= (SELECT max(id) FROM tool_calls) - ${mostRecords}`;
    });
  }
}
