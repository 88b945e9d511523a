/** Approvals of the caller, and their decisions. */
import type { approvals } from '../../contract/approvals.ts';
import type { Approvals } from '../../seams/approval.ts';
import { callerName, isOperator } from '../call.ts';
import type { Handlers } from '../serve.ts';

export function approvalHandlers(store: Approvals): Handlers<typeof approvals> {
  return {
    list: (which, { caller }) => store.list(caller.user, which),
    get: ({ approval }, { caller }) => store.get(caller.user, approval),
    decide: ({ approval, ...decision }, call) =>
      store.decide(call.caller.user, approval, {
        ...decision,
        by: callerName(call.caller),
        byOperator: isOperator(call),
      }),
  };
}
