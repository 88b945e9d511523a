import { type CliCommand, exitCodes } from '../../command.ts';
import { connectHost } from '../../hosting.ts';
import { wrongUsage } from '../../input/values.ts';
import { visible } from '../../render/printable.ts';
import { table } from '../../render/table.ts';

export const solveLsCommand: CliCommand = {
  name: 'solve ls',
  summary: 'List solves, newest first',
  usage: '[OPTION …]',
  examples: [['geode solve ls', 'with the outcome of each']],
  options: {},
  async run(context) {
    const { positionals, json, out } = context;
    if (positionals.length > 0) throw wrongUsage(`geode solve ls takes no ${positionals.join(' ')}`);
    await using host = await connectHost(context);
    const solves = await host.client.solves.list({ signal: context.signal });
    if (json) out(JSON.stringify({ solves }));
    else if (solves.length === 0) out('No solves yet. Start one: geode solve PROBLEM');
    else {
      const rows = solves.map(({ id, createdAt, state, result, problem }) => [
        id,
        createdAt.slice(0, 16).replace('T', ' '),
        result?.outcome ?? state,
        visible(problem.replaceAll('\n', ' ').slice(0, 60)),
      ]);
      for (const line of table([['ID', 'BEGUN', 'OUTCOME', 'PROBLEM'], ...rows])) out(line);
    }
    return exitCodes.done;
  },
};
