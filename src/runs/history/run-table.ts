import { z } from 'zod';
import { GeodeError } from '../../base/errors.ts';
import type { Chapter, Ledger } from '../../ledger/ledger.ts';
import type { RunHistory, RunRecord, RunSummary } from './run-record.ts';

export const runChapter: Chapter = {
  name: 'runs',
  changes: [
    `CREATE TABLE runs (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      user TEXT NOT NULL,
      id TEXT NOT NULL,
      at INTEGER NOT NULL,
      summary TEXT NOT NULL,
      details TEXT NOT NULL
    ) STRICT;
    CREATE INDEX runs_of_user ON runs (user, at);
    CREATE INDEX runs_by_id ON runs (id)`,
  ],
};

const outcomes = [
  'succeeded',
  'failed',
  'killed',
  'timed-out',
  'out-of-memory',
  'compile-failed',
  'stopped',
] as const;

const summarySchema = z.object({
  id: z.string(),
  at: z.number(),
  language: z.string(),
  outcome: z.enum(outcomes),
  exitCode: z.number().nullable(),
  signal: z.string().nullable(),
  durationMs: z.number(),
  runtime: z.string(),
  grade: z.string(),
  title: z.string(),
});

const detailsSchema = z.object({
  code: z.string(),
  output: z.array(z.object({ stream: z.enum(['stdout', 'stderr']), text: z.string() })),
  droppedBytes: z.number(),
  artifacts: z.array(z.string()),
  denied: z.array(z.string()),
});

const defaultLimit = 50;
/** Deleting old runs one by one would cost more than keeping them. */
const pruneEvery = 64;

/** Finished runs in the ledger: the newest of all users together. */
export class RunTable implements RunHistory {
  readonly #ledger: Ledger;
  readonly #keep: number;
  #sincePrune = 0;

  constructor(ledger: Ledger, keep: number) {
    this.#ledger = ledger;
    this.#keep = keep;
  }

  add(user: string, record: RunRecord): void {
    if (this.#keep === 0) return;
    const { code, output, droppedBytes, artifacts, denied, ...summary } = record;
    const details = { code, output, droppedBytes, artifacts, denied };
    this.#ledger.write((sql) => {
      const { lastInsertRowid } = sql.run`INSERT INTO runs (user, id, at, summary, details) VALUES
        (${user}, ${record.id}, ${record.at}, ${JSON.stringify(summary)}, ${JSON.stringify(details)})`;
      this.#sincePrune += 1;
      if (this.#sincePrune < pruneEvery) return;
      sql.run`DELETE FROM runs WHERE seq <= ${Number(lastInsertRowid) - this.#keep}`;
      this.#sincePrune = 0;
    });
  }

  list(
    user: string,
    { limit = defaultLimit, before = Number.MAX_SAFE_INTEGER }: { limit?: number; before?: number } = {},
  ): readonly RunSummary[] {
    const rows = this.#ledger.read(
      (sql) => sql.all`SELECT summary FROM runs WHERE user = ${user} AND at < ${before}
        ORDER BY at DESC, seq DESC LIMIT ${limit}`,
    );
    return rows.map(({ summary }) => summarySchema.parse(JSON.parse(String(summary))));
  }

  get(user: string, id: string): RunRecord {
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT summary, details FROM runs WHERE user = ${user} AND id = ${id}`,
    );
    if (row === undefined) throw new GeodeError('run_not_found', `There is no finished run ${id}`);
    return {
      ...summarySchema.parse(JSON.parse(String(row.summary))),
      ...detailsSchema.parse(JSON.parse(String(row.details))),
    };
  }
}
