import { type CliCommand, exitCodes, text } from '../../command.ts';
import { shownApproval } from '../../render/show-approval.ts';
import { forUserOption, userClient } from '../../user-client.ts';

export const approvalsLsCommand: CliCommand = {
  name: 'approvals ls',
  summary: 'list what waits for your decision',
  usage: '[OPTION …]',
  examples: [
    ['geode approvals ls', 'what is open, with exactly what would happen'],
    ['geode approvals ls --all', 'also what was decided, and by whom'],
  ],
  options: {
    ...forUserOption,
    all: { type: 'boolean', description: 'also what is decided, newest first' },
    chat: { type: 'string', value: 'CHAT', description: 'of one chat alone' },
  },
  async run(context) {
    const { values, json, out, signal } = context;
    const chat = text(values, 'chat');
    const approvals = await userClient(context).approvals.list({
      state: values.all === true ? 'all' : 'open',
      ...(chat !== undefined && { chat }),
      signal,
    });
    if (json) out(JSON.stringify({ approvals }));
    else if (approvals.length === 0) out('Nothing waits for a decision.');
    else for (const approval of approvals) for (const line of shownApproval(approval)) out(line);
    return exitCodes.done;
  },
};
