import { type CliCommand, exitCodes } from '../../command.ts';
import { connectHost } from '../../hosting.ts';
import { wrongUsage } from '../../input/values.ts';

export const crystalsPinCommand: CliCommand = {
  name: 'crystals pin',
  summary: 'Pin a crystal',
  usage: '[OPTION …] ID',
  examples: [
    ['geode crystals pin 9a1b…', 'Geode neither replaces it nor leaves it out'],
    ['geode crystals pin --off 9a1b…', 'unpins it'],
  ],
  options: { off: { type: 'boolean', description: 'unpin it' } },
  async run(context) {
    const { positionals, values, json, out } = context;
    const [id, ...more] = positionals;
    if (id === undefined || more.length > 0) throw wrongUsage('geode crystals pin takes one id');
    await using host = await connectHost(context);
    const pinned = values.off !== true;
    const crystal = await host.client.solves.change(id, { pinned }, { signal: context.signal });
    out(json ? JSON.stringify(crystal) : `${crystal.pinned ? 'pinned' : 'unpinned'} ${crystal.key}`);
    return exitCodes.done;
  },
};
