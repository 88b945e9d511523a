import { z } from 'zod';
import type { Chapter, Ledger } from '../ledger/ledger.ts';
import {
  type Approval,
  type ApprovalRequest,
  type ApprovalState,
  approvalDecisions,
  approvalKinds,
  type DecideApproval,
  type ListApprovals,
} from '../seams/approval.ts';

export const approvalChapter: Chapter = {
  name: 'approvals',
  changes: [
    `CREATE TABLE approvals (
      id TEXT PRIMARY KEY,
      user TEXT NOT NULL,
      sandbox TEXT,
      chat TEXT,
      kind TEXT NOT NULL,
      key TEXT,
      title TEXT NOT NULL,
      detail TEXT NOT NULL,
      choices TEXT NOT NULL,
      answers TEXT NOT NULL,
      asked_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      state TEXT NOT NULL,
      decision TEXT,
      decided_at INTEGER,
      decided_by TEXT,
      by_operator INTEGER NOT NULL,
      answer TEXT,
      until INTEGER,
      heard INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX approvals_of_user ON approvals (user, asked_at);
    CREATE INDEX approvals_open ON approvals (state, expires_at)`,
  ],
};

/** How long, and how many, decided approvals are kept. */
const keepMs = 180 * 24 * 3_600_000;
const mostKept = 20_000;
/** If the requester was gone when the decision came, the decision answers the same request for this long. */
const unreadMs = 3_600_000;

/** Approvals in the ledger. */
export class ApprovalTable {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  add(id: string, request: NewApproval, now: number): Approval {
    const { user, sandbox, chat, kind, key, title, detail, choices, answers, waitMs } = request;
    this.#ledger.write((sql) => {
      sql.run`INSERT INTO approvals VALUES (${id}, ${user}, ${sandbox ?? null}, ${chat ?? null}, ${kind},
        ${key ?? null}, ${title}, ${detail}, ${JSON.stringify(choices)}, ${JSON.stringify(answers)},
        ${now}, ${now + waitMs}, 'open', NULL, NULL, NULL, 0, NULL, NULL, 0)`;
      sql.run`DELETE FROM approvals WHERE state <> 'open' AND (asked_at < ${now - keepMs} OR id IN (
        SELECT id FROM approvals WHERE state <> 'open' ORDER BY asked_at DESC LIMIT -1 OFFSET ${mostKept}))`;
    });
    return this.#only(id);
  }

  get(user: string, id: string): Approval | undefined {
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT * FROM approvals WHERE id = ${id} AND user = ${user}`,
    );
    return row === undefined ? undefined : approvalOf(row);
  }

  list(user: string, { state = 'open', chat, limit = 100 }: ListApprovals): readonly Approval[] {
    const wanted = chat ?? null;
    const rows = this.#ledger.read((sql) =>
      state === 'open'
        ? sql.all`SELECT * FROM approvals WHERE user = ${user} AND state = 'open'
            AND (${wanted} IS NULL OR chat = ${wanted}) ORDER BY asked_at, rowid LIMIT ${limit}`
        : sql.all`SELECT * FROM approvals WHERE user = ${user}
            AND (${wanted} IS NULL OR chat = ${wanted}) ORDER BY asked_at DESC, rowid DESC LIMIT ${limit}`,
    );
    return rows.map(approvalOf);
  }

  /** Open approvals of a sandbox, or of the user if no sandbox is given. */
  openCount(user: string, sandbox: string | undefined): number {
    const of = sandbox ?? null;
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT count(*) AS count FROM approvals
        WHERE state = 'open' AND user = ${user} AND sandbox IS ${of}`,
    );
    return Number(row?.count ?? 0);
  }

  openOf(sandbox: string): readonly Approval[] {
    const rows = this.#ledger.read(
      (sql) => sql.all`SELECT * FROM approvals WHERE state = 'open' AND sandbox = ${sandbox}`,
    );
    return rows.map(approvalOf);
  }

  /** Finds an equal request that is open, or decided but not delivered. */
  same({ user, kind, key, sandbox }: ApprovalRequest, now: number): Approval | undefined {
    if (key === undefined) return undefined;
    const of = sandbox ?? null;
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT * FROM approvals
        WHERE user = ${user} AND kind = ${kind} AND key = ${key} AND sandbox IS ${of} AND (
          (state = 'open' AND expires_at > ${now})
          OR (state = 'decided' AND heard = 0 AND decided_at > ${now - unreadMs}))
        ORDER BY asked_at DESC, rowid DESC LIMIT 1`,
    );
    return row === undefined ? undefined : approvalOf(row);
  }

  /** Undefined when it was not open any more. */
  end(
    id: string,
    state: Exclude<ApprovalState, 'open'>,
    { decision, by, byOperator = false, answer, forMs }: Partial<DecideApproval>,
    now: number,
  ): Approval | undefined {
    const until = decision === 'allow-always' && forMs !== undefined ? now + forMs : null;
    const { changes } = this.#ledger.write(
      (sql) => sql.run`UPDATE approvals SET state = ${state}, decision = ${decision ?? 'deny'},
        decided_at = ${now}, decided_by = ${by ?? null}, by_operator = ${byOperator ? 1 : 0}, answer = ${answer ?? null}, until = ${until}
        WHERE id = ${id} AND state = 'open'`,
    );
    return changes === 0 ? undefined : this.#only(id);
  }

  markHeard(id: string): void {
    this.#ledger.write((sql) => sql.run`UPDATE approvals SET heard = 1 WHERE id = ${id}`);
  }

  /** Open approvals that have expired. */
  overdue(now: number): readonly Approval[] {
    const rows = this.#ledger.read(
      (sql) => sql.all`SELECT * FROM approvals WHERE state = 'open' AND expires_at <= ${now}`,
    );
    return rows.map(approvalOf);
  }

  /** When the next open one expires. */
  nextExpiry(): number | undefined {
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT min(expires_at) AS next FROM approvals WHERE state = 'open'`,
    );
    return typeof row?.next === 'number' ? row.next : undefined;
  }

  #only(id: string): Approval {
    return approvalOf(this.#ledger.read((sql) => sql.get`SELECT * FROM approvals WHERE id = ${id}`));
  }
}

/** A request with all that it left out. */
export type NewApproval = ApprovalRequest &
  Required<Pick<ApprovalRequest, 'detail' | 'choices' | 'answers' | 'waitMs'>>;

const rowSchema = z.object({
  id: z.string(),
  user: z.string(),
  sandbox: z.string().nullable(),
  chat: z.string().nullable(),
  kind: z.enum(approvalKinds),
  title: z.string(),
  detail: z.string(),
  choices: z.string().transform((text) => z.array(z.enum(approvalDecisions)).parse(JSON.parse(text))),
  answers: z.string().transform((text) => z.array(z.string()).parse(JSON.parse(text))),
  asked_at: z.number(),
  expires_at: z.number(),
  state: z.enum(['open', 'decided', 'expired', 'withdrawn']),
  decision: z.enum(approvalDecisions).nullable(),
  decided_at: z.number().nullable(),
  decided_by: z.string().nullable(),
  by_operator: z.number(),
  answer: z.string().nullable(),
  until: z.number().nullable(),
});

function approvalOf(row: unknown): Approval {
  const { asked_at, expires_at, decided_at, decided_by, by_operator, ...rest } = rowSchema.parse(row);
  return {
    ...rest,
    askedAt: asked_at,
    expiresAt: expires_at,
    decidedAt: decided_at,
    decidedBy: decided_by,
    byOperator: by_operator === 1,
  };
}
