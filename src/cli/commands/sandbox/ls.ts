import { type CliCommand, exitCodes, text } from '../../command.ts';
import { sandboxStates } from '../../connect/sandbox-states.ts';
import { wrongUsage } from '../../input/values.ts';
import { statusTable } from '../../render/show-status.ts';

export const sandboxLsCommand: CliCommand = {
  name: 'sandbox ls',
  summary: 'List sandboxes with state and isolation',
  usage: '[OPTION …]',
  examples: [
    ['geode sandbox ls', 'sandboxes of all users'],
    ['geode sandbox ls --user alice --json', 'sandboxes of one user, as JSON'],
  ],
  options: {
    wide: { type: 'boolean', short: 'w', description: 'also ids, ages, and how long each is kept running' },
    user: { type: 'string', short: 'u', value: 'USER', description: 'list only sandboxes of this user' },
  },
  async run(context) {
    const { values, positionals, json, out } = context;
    if (positionals.length > 0) throw wrongUsage(`geode sandbox ls takes no ${positionals.join(' ')}`);
    const wanted = text(values, 'user');
    const all = await sandboxStates(context, { usage: true });
    const sandboxes = all.filter(({ user }) => wanted === undefined || user === wanted);
    if (json) out(JSON.stringify({ sandboxes }));
    else if (sandboxes.length === 0) out('No sandboxes. Create one: geode sandbox create NAME');
    else for (const line of statusTable(sandboxes, { wide: values.wide === true })) out(line);
    return exitCodes.done;
  },
};
