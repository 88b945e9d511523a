import { type CliCommand, exitCodes } from '../../command.ts';
import { agoText } from '../../render/ages.ts';
import { sizeText } from '../../render/sizes.ts';
import { table } from '../../render/table.ts';
import { userClient } from '../../user-client.ts';

export const imageLsCommand: CliCommand = {
  name: 'image ls',
  summary: "list the images that Geode built, and those in Geode's own store",
  usage: '',
  examples: [['geode image ls', 'names, digests, sizes, and which are in use']],
  options: {},
  async run(context) {
    const { json, out, signal } = context;
    const client = userClient(context);
    const images = await client.images.list({ signal });
    const stored = await client.images.store.list({ signal });
    if (json) out(JSON.stringify({ images, stored }));
    else if (images.length + stored.length === 0)
      out(
        'There is no image yet. geode image pull fetches one; geode image build agent builds one of Geode.',
      );
    else {
      const built = images.map(({ image, id, sizeBytes, builtAt, from }) => [
        image,
        shortId(id),
        sizeBytes === null ? 'gone' : sizeText(sizeBytes),
        agoText(builtAt),
        `on ${from}`,
      ]);
      const pulled = stored.flatMap(({ names, id, sizeBytes, pulledAt, inUse }) =>
        names.map((name) => [
          name,
          shortId(id),
          sizeText(sizeBytes),
          agoText(pulledAt),
          inUse ? 'in the store, in use' : 'in the store',
        ]),
      );
      for (const line of table([...built, ...pulled])) out(line);
    }
    return exitCodes.done;
  },
};

function shortId(id: string): string {
  return id.replace(/^sha256:/, '').slice(0, 12);
}
