import { type CliCommand, exitCodes, text } from '../../command.ts';
import { decideEach } from '../../decide-approvals.ts';
import { forUserOption } from '../../user-client.ts';

export const approvalsDenyCommand: CliCommand = {
  name: 'approvals deny',
  summary: 'deny what waits for your decision',
  usage: 'ID … [OPTION …]',
  examples: [['geode approvals deny 1f2e3d4c5b6a7980', 'whoever waits for it hears it at once']],
  options: {
    ...forUserOption,
    answer: { type: 'string', value: 'TEXT', description: 'why, for whoever asked' },
  },
  async run(context) {
    const answer = text(context.values, 'answer');
    await decideEach(context, { decision: 'deny', ...(answer !== undefined && { answer }) });
    return exitCodes.done;
  },
};
