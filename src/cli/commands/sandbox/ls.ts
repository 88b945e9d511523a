import { type CliCommand, exitCodes, text } from '../../command.ts';
import { sandboxStates } from '../../connect/sandbox-states.ts';
import { wrongUsage } from '../../input/values.ts';
import { statusTable } from '../../render/show-status.ts';

export const sandboxLsCommand: CliCommand = {
  name: 'sandbox ls',
  summary: 'list the sandboxes that stay, with their states and isolation grades',
  usage: '[OPTION …]',
  examples: [
    ['geode sandbox ls', 'of all users; also while another command works in one'],
    ['geode sandbox ls --user alice --json', 'of one user, for programs'],
  ],
  options: {
    user: { type: 'string', short: 'u', value: 'USER', description: 'only of this user' },
  },
  async run(context) {
    const { values, positionals, json, out } = context;
    if (positionals.length > 0) throw wrongUsage(`geode sandbox ls takes no ${positionals.join(' ')}`);
    const wanted = text(values, 'user');
    const all = await sandboxStates(context);
    const sandboxes = all.filter(({ user }) => wanted === undefined || user === wanted);
    if (json) out(JSON.stringify({ sandboxes }));
    else if (sandboxes.length === 0) out('No sandboxes. geode sandbox create CHAT makes one.');
    else for (const line of statusTable(sandboxes)) out(line);
    return exitCodes.done;
  },
};
