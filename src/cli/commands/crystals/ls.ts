import { type CliCommand, exitCodes } from '../../command.ts';
import { connectHost } from '../../hosting.ts';
import { wrongUsage } from '../../input/values.ts';
import { visible } from '../../render/printable.ts';
import { table } from '../../render/table.ts';

export const crystalsLsCommand: CliCommand = {
  name: 'crystals ls',
  summary: 'List saved solutions (crystals), newest first',
  usage: '[OPTION …]',
  examples: [['geode crystals ls', 'with the trust of each']],
  options: {},
  async run(context) {
    const { positionals, json, out } = context;
    if (positionals.length > 0) throw wrongUsage(`geode crystals ls takes no ${positionals.join(' ')}`);
    await using host = await connectHost(context);
    const crystals = await host.client.solves.crystals({ signal: context.signal });
    if (json) out(JSON.stringify({ crystals }));
    else if (crystals.length === 0) out('No crystals yet. A solve with a verified result saves one.');
    else {
      const rows = crystals.map((crystal) => [
        crystal.key.replace('crystallized:', ''),
        crystal.trust.toFixed(2),
        crystal.standing,
        crystal.language,
        visible(crystal.problem.replaceAll('\n', ' ').slice(0, 60)),
      ]);
      for (const line of table([['ID', 'TRUST', 'STANDING', 'LANGUAGE', 'PROBLEM'], ...rows])) out(line);
    }
    return exitCodes.done;
  },
};
