import { runtimeNames } from '../../../seams/runtime.ts';
import { type CliCommand, exitCodes, text } from '../../command.ts';
import { chosen, onePositional } from '../../input/values.ts';
import { pullOf } from '../../render/show-pull.ts';
import { sizeText } from '../../render/sizes.ts';
import { userClient } from '../../user-client.ts';

export const imagePullCommand: CliCommand = {
  name: 'image pull',
  summary: 'fetch an image from its registry, if it is not here',
  usage: '[OPTION …] NAME',
  examples: [
    ['geode image pull python:3.12-slim', 'for the configured runtime'],
    ['geode image pull --runtime oci alpine:3.22', "into Geode's own store, without a container engine"],
  ],
  options: {
    runtime: {
      type: 'string',
      value: 'NAME',
      description: `the runtime that gets it: ${runtimeNames.join(', ')}; the configured one by default`,
    },
  },
  async run(context) {
    const { json, out, signal, values } = context;
    const name = onePositional(context, 'NAME of an image');
    const wanted = text(values, 'runtime');
    const display = pullOf(context);
    try {
      const image = await userClient(context).images.pull(name, {
        ...(wanted !== undefined && { runtime: chosen(wanted, runtimeNames, 'a runtime') }),
        onPull: display.show,
        signal,
      });
      display.end();
      out(json ? JSON.stringify(image) : `${name}  ${image.id}  ${sizeText(image.sizeBytes)}`);
      return exitCodes.done;
    } finally {
      display.end();
    }
  },
};
