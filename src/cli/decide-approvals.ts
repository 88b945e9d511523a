import type { DecideApproval } from '../seams/approval.ts';
import type { CliContext } from './command.ts';
import { somePositionals } from './input/values.ts';
import { visible } from './render/printable.ts';
import { decisionText } from './render/show-approval.ts';
import { userClient } from './user-client.ts';

/** Applies one decision to every named approval, and prints each stored result. */
export async function decideEach(
  context: CliContext,
  decision: Omit<DecideApproval, 'by' | 'byOperator'>,
): Promise<void> {
  const client = userClient(context);
  for (const id of somePositionals(context, 'ID of an approval')) {
    const approval = await client.approvals.decide(id, decision, { signal: context.signal });
    if (context.json) context.out(JSON.stringify(approval));
    else context.out(visible(`${approval.id}  ${approval.title}  ${decisionText(approval)}`));
  }
}
