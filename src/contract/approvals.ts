/** What waits for a person's decision, as it goes over the wire. */
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
    sandbox: z.string().nullable().describe('The id of the sandbox that it is about.'),
    chat: z.string().nullable(),
    kind: z.enum(approvalKinds),
    title: z.string().describe('One line: what will happen.'),
    detail: z.string().describe('Exactly what: the command, the diff, the host and port.'),
    choices: z.array(decision),
    answers: z.array(z.string()).describe('Of a question: answers to pick from; others may be written.'),
    asked_at: z.number().describe(ms),
    expires_at: z.number().describe('Denied from then on.'),
    state: z.enum(['open', 'decided', 'expired', 'withdrawn']),
    decision: decision.nullable().describe('null while it is open.'),
    decided_at: z.number().nullable(),
    decided_by: z.string().nullable().describe('null: nobody did, its time was up or nobody waits for it.'),
    by_operator: z.boolean().describe('Whoever runs the host said it.'),
    answer: z.string().nullable(),
    until: z.number().nullable().describe('When `allow-always` ends; null: for good.'),
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
    decision: decision.describe('`allow-session`: while the sandbox is there. `allow-always`: for good.'),
    answer: z.string().max(16_384).optional().describe('Of a question.'),
    for_ms: z
      .int()
      .positive()
      .max(10 * 365 * 24 * 3_600_000)
      .optional()
      .describe('How long `allow-always` holds. Left out: for good.'),
  })
  .meta({ id: 'DecideApproval' });

export const approvals = family({
  /** The open ones, oldest first; with `state: 'all'` every one, newest first. */
  list: {
    route: 'GET /api/v1/approvals',
    tag: 'approvals',
    scope: 'approvals',
    summary: 'What waits for a decision, oldest first',
    query: approvalsQuery,
    answer: { says: "The caller's own.", schema: approvalsSchema, field: 'approvals' },
  },
  get: {
    route: 'GET /api/v1/approvals/{approval}',
    tag: 'approvals',
    scope: 'approvals',
    summary: 'One approval, with what was decided and by whom',
    params: approvalParams,
    answer: { says: 'The approval.', schema: approvalSchema },
    refuses: notFound,
  },
  /** `approval_decided` when somebody was faster, or its time was up. */
  decide: {
    route: 'POST /api/v1/approvals/{approval}',
    tag: 'approvals',
    scope: 'approvals',
    summary: 'Decide an approval',
    description: 'Whoever waits for it hears it at once. The first decision counts; a second is refused.',
    params: approvalParams,
    body: { says: 'What is decided.', schema: decideSchema },
    answer: { says: 'As it is kept.', schema: approvalSchema },
    refuses: { ...notFound, 409: 'It is decided already.' },
  },
});
