import { type CliCommand, exitCodes } from '../../command.ts';
import { connectHost } from '../../hosting.ts';

export const secretsRotateCommand: CliCommand = {
  name: 'secrets rotate',
  summary: 'Encrypt all secrets with a new key',
  usage: '',
  examples: [['geode secrets rotate', 'the secrets do not change; the old key no longer decrypts them']],
  options: {},
  async run(context) {
    const { json, out, signal } = context;
    await using host = await connectHost(context);
    const count = await host.client.secrets.rotate({ signal });
    out(json ? JSON.stringify({ resealed: count }) : `Encrypted ${count} secrets with a new key`);
    return exitCodes.done;
  },
};
