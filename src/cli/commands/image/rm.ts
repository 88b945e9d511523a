import { builtImageNames } from '../../../seams/images.ts';
import { type CliCommand, exitCodes } from '../../command.ts';
import { chosen, onePositional } from '../../input/values.ts';
import { userClient } from '../../user-client.ts';

export const imageRmCommand: CliCommand = {
  name: 'image rm',
  summary: 'Remove an image that Geode built',
  usage: builtImageNames.join('|'),
  examples: [['geode image rm full', 'succeeds if there is no such image']],
  options: {},
  async run(context) {
    const { json, out, signal } = context;
    const name = chosen(onePositional(context, builtImageNames.join('|')), builtImageNames, 'an image');
    const removed = await userClient(context).images.remove(name, { signal });
    out(json ? JSON.stringify({ removed }) : removed ? `${name} removed` : `${name} was not built here`);
    return exitCodes.done;
  },
};
