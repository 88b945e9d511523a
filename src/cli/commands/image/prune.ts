import { type CliCommand, exitCodes } from '../../command.ts';
import { sizeText } from '../../render/sizes.ts';
import { userClient } from '../../user-client.ts';

export const imagePruneCommand: CliCommand = {
  name: 'image prune',
  summary: "free what nothing in Geode's own store needs",
  usage: '[OPTION …]',
  examples: [
    ['geode image prune', 'replaced images, and what a killed host left half unpacked'],
    ['geode image prune --all', 'and every image that no sandbox was made of'],
  ],
  options: {
    all: { type: 'boolean', short: 'a', description: 'remove images that no sandbox was made of' },
  },
  async run(context) {
    const { json, out, signal, values } = context;
    const pruned = await userClient(context).images.store.prune({ all: values.all === true }, { signal });
    if (json) out(JSON.stringify(pruned));
    else {
      for (const name of pruned.removed) out(name);
      out(`${sizeText(pruned.freedBytes)} freed`);
    }
    return exitCodes.done;
  },
};
