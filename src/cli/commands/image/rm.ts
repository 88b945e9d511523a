import { builtImageNames } from '../../../seams/images.ts';
import { type CliCommand, exitCodes } from '../../command.ts';
import { onePositional } from '../../input/values.ts';
import { userClient } from '../../user-client.ts';

export const imageRmCommand: CliCommand = {
  name: 'image rm',
  summary: "remove an image that Geode built, or one in Geode's own store",
  usage: `${builtImageNames.join('|')}|NAME`,
  examples: [
    ['geode image rm full', 'an image that geode image build made'],
    ['geode image rm python:3.12-slim', 'a pulled image; refused while a sandbox was made of it'],
  ],
  options: {},
  async run(context) {
    const { json, out, signal } = context;
    const name = onePositional(context, 'image');
    const built = builtImageNames.find((each) => each === name);
    const { images } = userClient(context);
    const removed =
      built === undefined
        ? await images.store.remove({ name, signal })
        : await images.remove(built, { signal });
    const missing = built === undefined ? 'is not in the store' : 'was not built here';
    out(json ? JSON.stringify({ removed }) : `${name} ${removed ? 'removed' : missing}`);
    return exitCodes.done;
  },
};
