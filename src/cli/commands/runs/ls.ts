import { type CliCommand, exitCodes } from '../../command.ts';
import { wrongUsage } from '../../input/values.ts';
import { agoText } from '../../render/ages.ts';
import { visible } from '../../render/printable.ts';
import { table } from '../../render/table.ts';
import { forUserOption, userClient } from '../../user-client.ts';

export const runsLsCommand: CliCommand = {
  name: 'runs ls',
  summary: 'List finished runs, newest first',
  usage: '[OPTION …]',
  examples: [['geode runs ls', 'the last 50, with the outcome of each']],
  options: { ...forUserOption },
  async run(context) {
    const { positionals, json, out, signal } = context;
    if (positionals.length > 0) throw wrongUsage(`geode runs ls takes no ${positionals.join(' ')}`);
    const runs = await userClient(context).runs.list({ signal });
    if (json) out(JSON.stringify({ runs }));
    else if (runs.length === 0) out('No runs yet. Start one: geode run FILE');
    else {
      const rows = runs.map(({ id, at, language, outcome, title }) => [
        id,
        agoText(at),
        language,
        outcome,
        visible(title.slice(0, 60)),
      ]);
      for (const line of table([['ID', 'AGE', 'LANGUAGE', 'OUTCOME', 'CODE'], ...rows])) out(line);
    }
    return exitCodes.done;
  },
};
