import { type CliCommand, exitCodes, text } from '../../command.ts';
import { decideEach } from '../../decide-approvals.ts';
import { forUserOption } from '../../user-client.ts';

export const approvalsDenyCommand: CliCommand = {
  name: 'approvals deny',
  summary: 'Deny a request',
  usage: 'ID … [OPTION …]',
  examples: [['geode approvals deny 1f2e3d4c5b6a7980', 'the program that waits gets the refusal at once']],
  options: {
    ...forUserOption,
    answer: {
      type: 'string',
      value: 'TEXT',
      description: 'the reason, sent to the agent or program that asked',
    },
  },
  async run(context) {
    const answer = text(context.values, 'answer');
    await decideEach(context, { decision: 'deny', ...(answer !== undefined && { answer }) });
    return exitCodes.done;
  },
};
