import { builtImageNames } from '../../../core/images.ts';
import { type CliCommand, exitCodes, text } from '../../command.ts';
import { chosen, onePositional } from '../../input/values.ts';
import { buildDisplay } from '../../render/show-build.ts';
import { sizeText } from '../../render/sizes.ts';
import { userClient } from '../../user-client.ts';

export const imageBuildCommand: CliCommand = {
  name: 'image build',
  summary: "build one of Geode's images with Docker or Podman, and those below it",
  usage: `[OPTION …] ${builtImageNames.join('|')}`,
  examples: [
    ['geode image build agent', 'Node, Python, git, Claude Code, Codex; on Debian, which is pulled'],
    ['geode image build full --from my-debian:1', 'on an image that is here already: no registry is asked'],
  ],
  options: {
    from: {
      type: 'string',
      value: 'IMAGE',
      description: 'Debian, or what is made of it; images.from by default',
    },
    fresh: { type: 'boolean', description: 'do every step again, also those that the engine remembers' },
    verbose: { type: 'boolean', short: 'v', description: 'show what the steps say' },
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
