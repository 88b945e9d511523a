import type { DecideApproval } from '../../../seams/approval.ts';
import { type CliCommand, type CliValues, exitCodes, text } from '../../command.ts';
import { decideEach } from '../../decide-approvals.ts';
import { wrongUsage } from '../../input/values.ts';
import { parseSpan } from '../../render/ages.ts';
import { forUserOption } from '../../user-client.ts';

export const approvalsAllowCommand: CliCommand = {
  name: 'approvals allow',
  summary: 'Allow a request',
  usage: 'ID … [OPTION …]',
  examples: [
    ['geode approvals allow 1f2e3d4c5b6a7980', 'once'],
    ['geode approvals allow 1f2e3d4c5b6a7980 --session', 'until the sandbox is removed'],
    ['geode approvals allow 1f2e3d4c5b6a7980 --always --for 7d', 'for a week; without --for, permanently'],
    ['geode approvals allow 1f2e3d4c5b6a7980 --answer "use port 8080"', 'answers a question'],
  ],
  options: {
    ...forUserOption,
    session: { type: 'boolean', description: 'allow until the sandbox is removed' },
    always: { type: 'boolean', description: 'allow permanently, or for the time in --for' },
    for: { type: 'string', value: 'TIME', description: 'with --always: 90s, 30m, 2h, 7d' },
    answer: { type: 'string', value: 'TEXT', description: 'the answer to a question' },
  },
  async run(context) {
    await decideEach(context, decisionFrom(context.values));
    return exitCodes.done;
  },
};

function decisionFrom(values: CliValues): Omit<DecideApproval, 'by' | 'byOperator'> {
  const { session, always } = values;
  if (session === true && always === true) throw wrongUsage('Give --session or --always, not both');
  const span = text(values, 'for');
  if (span !== undefined && always !== true) throw wrongUsage('--for goes with --always');
  const forMs = span === undefined ? undefined : parseSpan(span);
  if (span !== undefined && (forMs === undefined || forMs <= 0))
    throw wrongUsage(`--for ${span} is not a time: 90s, 30m, 2h, 1d`);
  const answer = text(values, 'answer');
  return {
    decision: session === true ? 'allow-session' : always === true ? 'allow-always' : 'allow-once',
    ...(answer !== undefined && { answer }),
    ...(forMs !== undefined && { forMs }),
  };
}
