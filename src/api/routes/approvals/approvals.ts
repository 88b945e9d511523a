/** What waits for a decision of the caller, and the decision. */

import {
  approvalParams,
  approvalSchema,
  approvalsQuery,
  approvalsSchema,
  decideSchema,
} from '../../../contract/approvals.ts';
import { fromWire, toWire } from '../../../contract/names.ts';
import { problemSchema } from '../../../contract/problem.ts';
import type { Approvals } from '../../../core/approval.ts';
import { isOperator } from '../../egress-reach.ts';
import type { Caller } from '../../environment.ts';
import { requireScope } from '../../guards/auth.ts';
import {
  bodyRefusals,
  defineRoute,
  json,
  jsonBody,
  limitEntryBody,
  notFoundRefusal,
  refusals,
  security,
} from '../../route.ts';

const path = '/api/v1/approvals';
const tags = ['approvals'];

export function approvalRoutes(approvals: Approvals) {
  return [
    defineRoute(
      {
        method: 'get',
        path,
        summary: 'What waits for a decision, oldest first',
        tags,
        security,
        middleware: requireScope('approvals'),
        request: { query: approvalsQuery },
        responses: { 200: json("The caller's own.", approvalsSchema), ...refusals },
      },
      (context) => {
        const { chat, ...query } = context.req.valid('query');
        const found = approvals.list(context.var.caller.user, {
          ...query,
          ...(chat !== undefined && { chat }),
        });
        return context.json({ approvals: found.map((each) => toWire(each)) }, 200);
      },
    ),
    defineRoute(
      {
        method: 'get',
        path: `${path}/{approval}`,
        summary: 'One approval, with what was decided and by whom',
        tags,
        security,
        middleware: requireScope('approvals'),
        request: { params: approvalParams },
        responses: { 200: json('The approval.', approvalSchema), ...refusals, ...notFoundRefusal },
      },
      (context) => {
        const { approval } = context.req.valid('param');
        return context.json(toWire(approvals.get(context.var.caller.user, approval)), 200);
      },
    ),
    defineRoute(
      {
        method: 'post',
        path: `${path}/{approval}`,
        summary: 'Decide an approval',
        description: 'Whoever waits for it hears it at once. The first decision counts; a second is refused.',
        tags,
        security,
        middleware: [requireScope('approvals'), limitEntryBody],
        request: { params: approvalParams, body: jsonBody('What is decided.', decideSchema) },
        responses: {
          200: json('As it is kept.', approvalSchema),
          ...refusals,
          ...bodyRefusals,
          ...notFoundRefusal,
          409: json('It is decided already.', problemSchema),
        },
      },
      (context) => {
        const { approval } = context.req.valid('param');
        const { caller } = context.var;
        const said = fromWire(context.req.valid('json'));
        return context.json(
          toWire(
            approvals.decide(caller.user, approval, {
              ...said,
              by: nameOf(caller),
              byOperator: isOperator(context),
            }),
          ),
          200,
        );
      },
    ),
  ] as const;
}

/** For the record: on the host's own socket it is whoever runs the host. */
export function nameOf({ keyId }: Caller): string {
  return /^[0-9a-f]{12}$/.test(keyId) ? `key ${keyId}` : keyId;
}
