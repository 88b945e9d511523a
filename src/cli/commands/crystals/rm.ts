import { type CliCommand, exitCodes } from '../../command.ts';
import { connectHost } from '../../hosting.ts';
import { wrongUsage } from '../../input/values.ts';

export const crystalsRmCommand: CliCommand = {
  name: 'crystals rm',
  summary: 'Remove crystals',
  usage: 'ID …',
  examples: [['geode crystals rm 9a1b…', 'the next solve of its problem starts from scratch']],
  options: {},
  async run(context) {
    const { positionals, json, out } = context;
    if (positionals.length === 0) throw wrongUsage('geode crystals rm needs an id');
    await using host = await connectHost(context);
    for (const id of positionals) await host.client.solves.forget(id, { signal: context.signal });
    out(json ? JSON.stringify({ removed: positionals }) : `removed ${positionals.join(' ')}`);
    return exitCodes.done;
  },
};
