/** Approvals on the wire: requests that wait for a person's decision. */
import { z } from 'zod';
import { approvalDecisions, approvalKinds } from '../seams/approval.ts';
import { decimal } from './decimal.ts';
import { family, notFound } from './operation.ts';

const decision = z.enum(approvalDecisions);
const ms = 'In ms since 1970.';

const approvalSchema = z
  .object({
    id: z.string(),
    user: z.string(),
    sandbox: z.string().nullable().describe('Id of the sandbox concerned.'),
    chat: z.string().nullable(),
    kind: z.enum(approvalKinds),
    title: z.string().describe('One line: what will happen.'),
    detail: z.string().describe('Exactly what: the command, the diff, the host and port.'),
    choices: z.array(decision),
    answers: z.array(z.string()).describe('For a question: suggested answers; free text is allowed too.'),
    asked_at: z.number().describe(ms),
    expires_at: z.number().describe('Counts as denied after this time.'),
    state: z.enum(['open', 'decided', 'expired', 'withdrawn']),
    decision: decision.nullable().describe('null while it is open.'),
    decided_at: z.number().nullable(),
    decided_by: z.string().nullable().describe('null if it expired or was withdrawn.'),
    by_operator: z.boolean().describe('true if the operator of the host decided.'),
    answer: z.string().nullable(),
    until: z.number().nullable().describe('When `allow-always` ends; null: never.'),
  })
  .meta({ id: 'Approval' });

const approvalsSchema = z.object({ approvals: z.array(approvalSchema) }).meta({ id: 'Approvals' });

const approvalsQuery = z.strictObject({
  state: z.enum(['open', 'all']).default('open').describe('`all`: also what is decided, newest first.'),
  chat: z.string().min(1).max(400).optional(),
  limit: decimal(z.int().min(1).max(1000).default(100)),
});

const approvalParams = z.object({ approval: z.string().regex(/^[0-9a-f]{16}$/) });

const decideSchema = z
  .strictObject({
    decision: decision.describe(
      '`allow-session`: until the sandbox is removed. `allow-always`: permanently.',
    ),
    answer: z.string().max(16_384).optional().describe('The answer to a question.'),
    for_ms: z
      .int()
      .positive()
      .max(10 * 365 * 24 * 3_600_000)
      .optional()
      .describe('How long `allow-always` lasts. Default: permanently.'),
  })
  .meta({ id: 'DecideApproval' });

export const approvals = family({
  /** Open approvals, oldest first; with `state: 'all'` every approval, newest first. */
  list: {
    route: 'GET /api/v1/approvals',
    tag: 'approvals',
    scope: 'approvals',
    summary: 'List open approvals, oldest first',
    query: approvalsQuery,
    answer: { description: 'The approvals of the caller.', schema: approvalsSchema, field: 'approvals' },
  },
  get: {
    route: 'GET /api/v1/approvals/{approval}',
    tag: 'approvals',
    scope: 'approvals',
    summary: 'Get an approval and its decision',
    params: approvalParams,
    answer: { description: 'The approval.', schema: approvalSchema },
    refuses: notFound,
  },
  /** Throws `approval_decided` if it was already decided or has expired. */
  decide: {
    route: 'POST /api/v1/approvals/{approval}',
    tag: 'approvals',
    scope: 'approvals',
    summary: 'Decide an approval',
    description: 'The program that waits is notified at once. A second decision is refused.',
    params: approvalParams,
    body: { description: 'The decision.', schema: decideSchema },
    answer: { description: 'The stored approval.', schema: approvalSchema },
    refuses: { ...notFound, 409: 'It is decided already.' },
  },
});
