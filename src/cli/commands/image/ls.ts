import { type CliCommand, exitCodes } from '../../command.ts';
import { agoText } from '../../render/ages.ts';
import { sizeText } from '../../render/sizes.ts';
import { table } from '../../render/table.ts';
import { userClient } from '../../user-client.ts';

export const imageLsCommand: CliCommand = {
  name: 'image ls',
  summary: "list Geode's images that were built here, with their digests",
  usage: '',
  examples: [['geode image ls', 'what each was built on, and whether the engine still has it']],
  options: {},
  async run(context) {
    const { json, out, signal } = context;
    const images = await userClient(context).images.list({ signal });
    if (json) out(JSON.stringify({ images }));
    else if (images.length === 0) out('No image was built here. geode image build agent builds one.');
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
