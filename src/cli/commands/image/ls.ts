import { type CliCommand, exitCodes } from '../../command.ts';
import { agoText } from '../../render/ages.ts';
import { sizeText } from '../../render/sizes.ts';
import { table } from '../../render/table.ts';
import { userClient } from '../../user-client.ts';

export const imageLsCommand: CliCommand = {
  name: 'image ls',
  summary: 'List the images that Geode built',
  usage: '',
  examples: [['geode image ls', 'with the base of each, and whether the engine still has it']],
  options: {},
  async run(context) {
    const { json, out, signal } = context;
    const images = await userClient(context).images.list({ signal });
    if (json) out(JSON.stringify({ images }));
    else if (images.length === 0) out('No images built here. Build one: geode image build agent');
    else
      for (const line of table(
        images.map(({ image, id, sizeBytes, builtAt, from }) => [
          image,
          id.replace(/^sha256:/, '').slice(0, 12),
          sizeBytes === null ? 'gone' : sizeText(sizeBytes),
          agoText(builtAt),
          `on ${from}`,
        ]),
      ))
        out(line);
    return exitCodes.done;
  },
};
