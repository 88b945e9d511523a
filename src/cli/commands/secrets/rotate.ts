import { type CliCommand, exitCodes } from '../../command.ts';
import { connectHost } from '../../hosting.ts';

export const secretsRotateCommand: CliCommand = {
  name: 'secrets rotate',
  summary: 'seal all secrets with a new key',
  usage: '',
  examples: [['geode secrets rotate', 'the old key opens nothing any more; the secrets stay what they are']],
  options: {},
  async run(context) {
    const { json, out, signal } = context;
    await using host = await connectHost(context);
    const count = await host.client.secrets.rotate({ signal });
    out(json ? JSON.stringify({ resealed: count }) : `${count} sealed with a new key`);
    return exitCodes.done;
  },
};
