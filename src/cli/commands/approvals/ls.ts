import { type CliCommand, exitCodes, text } from '../../command.ts';
import { shownApproval } from '../../render/show-approval.ts';
import { forUserOption, userClient } from '../../user-client.ts';

export const approvalsLsCommand: CliCommand = {
  name: 'approvals ls',
  summary: 'List requests that wait for your decision',
  usage: '[OPTION …]',
  examples: [
    ['geode approvals ls', 'open requests, with exactly what would happen'],
    ['geode approvals ls --all', 'decided requests too, with who decided'],
  ],
  options: {
    ...forUserOption,
    all: { type: 'boolean', description: 'include decided requests, newest first' },
    chat: { type: 'string', value: 'CHAT', description: 'only requests of this chat' },
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
    else if (approvals.length === 0) out('No request waits for a decision.');
    else for (const approval of approvals) for (const line of shownApproval(approval)) out(line);
    return exitCodes.done;
  },
};
