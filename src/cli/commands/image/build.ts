import { builtImageNames } from '../../../seams/images.ts';
import { type CliCommand, exitCodes, text } from '../../command.ts';
import { chosen, onePositional } from '../../input/values.ts';
import { buildDisplay } from '../../render/show-build.ts';
import { sizeText } from '../../render/sizes.ts';
import { userClient } from '../../user-client.ts';

export const imageBuildCommand: CliCommand = {
  name: 'image build',
  summary: "Build one of Geode's images with Docker or Podman",
  usage: `[OPTION …] ${builtImageNames.join('|')}`,
  examples: [
    ['geode image build agent', 'Node, Python, git, Claude Code and Codex on Debian; pulls Debian'],
    ['geode image build full --from my-debian:1', 'on a local image; contacts no registry for the base'],
  ],
  options: {
    from: {
      type: 'string',
      value: 'IMAGE',
      description: 'base image: Debian or built on it (default: images.from)',
    },
    fresh: { type: 'boolean', description: "repeat every step; ignore the engine's cache" },
    verbose: { type: 'boolean', short: 'v', description: 'show the output of the steps' },
  },
  async run(context) {
    const { values, json, out, signal } = context;
    const name = chosen(onePositional(context, builtImageNames.join('|')), builtImageNames, 'an image');
    const from = text(values, 'from');
    const display = buildDisplay(context, values.verbose === true);
    try {
      const built = await userClient(context).images.build(name, {
        ...(from !== undefined && { from }),
        ...(values.fresh === true && { steps: 'fresh' }),
        onProgress: display.show,
        signal,
      });
      display.end();
      const size = built.sizeBytes === null ? '' : `  ${sizeText(built.sizeBytes)}`;
      out(json ? JSON.stringify(built) : `${built.image}  ${built.id}${size}`);
      return exitCodes.done;
    } finally {
      display.end();
    }
  },
};
