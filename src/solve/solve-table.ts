import { randomUUID } from 'node:crypto';
import { GeodeError } from '../base/errors.ts';
import { noUsage } from '../base/prices.ts';
import type { Chapter, Ledger } from '../ledger/ledger.ts';
import type { Attempt, KeptSolve, SolveRequest, SolveResult } from '../seams/solve.ts';

export const solveChapter: Chapter = {
  name: 'solve',
  changes: [
    `CREATE TABLE solves (
      id TEXT PRIMARY KEY,
      user TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      request TEXT NOT NULL,
      state TEXT NOT NULL,
      result TEXT
    ) STRICT;
    CREATE INDEX solves_of_user ON solves (user, created_at);
    CREATE TABLE attempts (
      solve TEXT NOT NULL REFERENCES solves (id),
      number INTEGER NOT NULL,
      attempt TEXT NOT NULL,
      PRIMARY KEY (solve, number)
    ) STRICT`,
  ],
};

/** Solves and their attempts in the ledger. Each change of an attempt is stored before the next step. */
export class SolveTable {
  readonly #ledger: Ledger;

  /** Solves that are `running` in the ledger of a new host were interrupted. */
  constructor(ledger: Ledger) {
    this.#ledger = ledger;
    ledger.write((sql) => sql.run`UPDATE solves SET state = 'interrupted' WHERE state = 'running'`);
  }

  begin(user: string, request: SolveRequest): string {
    const id = randomUUID();
    this.#ledger.write(
      (sql) => sql.run`INSERT INTO solves VALUES
        (${id}, ${user}, ${Date.now()}, ${JSON.stringify(request)}, 'running', NULL)`,
    );
    return id;
  }

  /** Marks an interrupted solve as running again and returns its request. */
  reopen(
    user: string,
    id: string,
  ): { readonly request: SolveRequest; readonly attempts: readonly Attempt[] } {
    const kept = this.get(user, id);
    if (kept.state !== 'interrupted') {
      const why = kept.state === 'done' ? 'has ended' : 'is running';
      throw new GeodeError(
        'invalid_input',
        `The solve ${id} ${why}; only an interrupted one can be resumed.`,
      );
    }
    const row = this.#ledger.write((sql) => {
      sql.run`UPDATE solves SET state = 'running' WHERE id = ${id}`;
      return sql.get`SELECT request FROM solves WHERE id = ${id}`;
    });
    return { request: JSON.parse(String(row?.request)) as SolveRequest, attempts: kept.attempts };
  }

  saveAttempt(id: string, attempt: Attempt): void {
    this.#ledger.write(
      (sql) => sql.run`INSERT INTO attempts VALUES (${id}, ${attempt.number}, ${JSON.stringify(attempt)})
        ON CONFLICT DO UPDATE SET attempt = excluded.attempt`,
    );
  }

  end(result: SolveResult): void {
    this.#ledger.write(
      (sql) =>
        sql.run`UPDATE solves SET state = 'done', result = ${JSON.stringify(result)} WHERE id = ${result.id}`,
    );
  }

  /** The host gave up after an internal failure. It can be resumed. */
  leave(id: string): void {
    this.#ledger.write(
      (sql) => sql.run`UPDATE solves SET state = 'interrupted' WHERE id = ${id} AND state = 'running'`,
    );
  }

  list(user: string, limit: number): readonly KeptSolve[] {
    return this.#ledger
      .read(
        (sql) => sql.all`SELECT * FROM solves WHERE user = ${user} ORDER BY created_at DESC LIMIT ${limit}`,
      )
      .map((row) => solveOf(row, []));
  }

  get(user: string, id: string): KeptSolve {
    const [row, rows] = this.#ledger.read((sql) => [
      sql.get`SELECT * FROM solves WHERE id = ${id} AND user = ${user}`,
      sql.all`SELECT attempt FROM attempts WHERE solve = ${id} ORDER BY number`,
    ]);
    if (row === undefined)
      throw new GeodeError('solve_not_found', `There is no solve ${JSON.stringify(id)}.`);
    const kept = solveOf(row, []);
    return { ...kept, attempts: rows.map((each) => attemptOf(String(each.attempt), kept.state)) };
  }
}

type Row = Readonly<Record<string, unknown>>;

function solveOf(row: Row, attempts: readonly Attempt[]): KeptSolve {
  const request = JSON.parse(String(row.request)) as SolveRequest;
  return {
    id: String(row.id),
    problem: request.problem,
    createdAt: new Date(Number(row.created_at)),
    state: row.state as KeptSolve['state'],
    result: row.result === null ? null : (JSON.parse(String(row.result)) as SolveResult),
    attempts,
  };
}

function attemptOf(text: string, state: KeptSolve['state']): Attempt {
  // Attempts of earlier versions list no packages.
  const { dependencies = [], installation = null, ...kept } = JSON.parse(text) as Attempt;
  return {
    ...kept,
    dependencies,
    installation,
    state: kept.state === 'running' && state === 'interrupted' ? 'interrupted' : kept.state,
    startedAt: new Date(kept.startedAt),
    endedAt: kept.endedAt === null ? null : new Date(kept.endedAt),
  };
}

export function newAttempt(number: number, origin: Attempt['origin']): Attempt {
  return {
    number,
    origin,
    state: 'running',
    language: null,
    code: null,
    files: {},
    checks: null,
    dependencies: [],
    installation: null,
    run: null,
    verdict: null,
    reflection: null,
    usage: noUsage,
    cost: 0,
    startedAt: new Date(),
    endedAt: null,
  };
}
