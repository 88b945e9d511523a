import { type CliCommand, exitCodes } from '../../command.ts';
import { wrongUsage } from '../../input/values.ts';
import { agoText } from '../../render/ages.ts';
import { printableLine } from '../../render/printable.ts';
import { table } from '../../render/table.ts';
import { forUserOption, userClient } from '../../user-client.ts';

export const agentLsCommand: CliCommand = {
  name: 'agent ls',
  summary: 'List conversations with agents',
  usage: '[OPTION …]',
  examples: [['geode agent ls', 'with the agent and the cost of each']],
  options: { ...forUserOption },
  async run(context) {
    const { positionals, json, out, signal } = context;
    if (positionals.length > 0) throw wrongUsage(`geode agent ls takes no ${positionals.join(' ')}`);
    const conversations = await userClient(context).agents.list({ signal });
    if (json) out(JSON.stringify({ conversations }));
    else if (conversations.length === 0) out('No conversations yet. Start one: geode agent -m "…"');
    else {
      const rows = conversations.map(({ chat, driver, state, turns, cost, activeAt }) => [
        printableLine(chat),
        driver,
        state,
        String(turns),
        `$${cost.toFixed(4)}`,
        agoText(activeAt),
      ]);
      for (const line of table([['CHAT', 'DRIVER', 'STATE', 'TURNS', 'COST', 'ACTIVE'], ...rows])) out(line);
    }
    return exitCodes.done;
  },
};
