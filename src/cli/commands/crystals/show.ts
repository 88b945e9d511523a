import { type CliCommand, exitCodes } from '../../command.ts';
import { connectHost } from '../../hosting.ts';
import { wrongUsage } from '../../input/values.ts';
import { visible } from '../../render/printable.ts';

export const crystalsShowCommand: CliCommand = {
  name: 'crystals show',
  summary: 'Show a crystal',
  usage: '[OPTION …] ID',
  examples: [['geode crystals show 9a1b…', 'geode crystals ls lists the ids']],
  options: {},
  async run(context) {
    const { positionals, json, out, paint } = context;
    const [id, ...more] = positionals;
    if (id === undefined || more.length > 0) throw wrongUsage('geode crystals show takes one id');
    await using host = await connectHost(context);
    const crystal = await host.client.solves.crystal(id, { signal: context.signal });
    const { trust, standing } = crystal;
    if (json) {
      out(JSON.stringify(crystal));
      return exitCodes.done;
    }
    out(visible(crystal.problem));
    for (const error of crystal.errors) out(paint('dim', `met: ${visible(error)}`));
    out('');
    out(visible(crystal.solution.trimEnd()));
    out('');
    const doubt = crystal.lastFailure === null ? '' : `; last failure: ${visible(crystal.lastFailure)}`;
    out(
      `${standing}, trust ${trust.toFixed(2)} (${crystal.successes} right, ${crystal.failures} wrong${doubt})`,
    );
    return exitCodes.done;
  },
};
