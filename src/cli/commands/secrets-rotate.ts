import { type CliCommand, exitCodes } from '../command.ts';

export const secretsRotateCommand: CliCommand = {
  name: 'secrets rotate',
  summary: 'seal all secrets with a new key',
  usage: '',
  examples: [['geode secrets rotate', 'the old key opens nothing any more; the secrets stay what they are']],
  options: {},
  async run({ app, json, out }) {
    const count = (await app()).egress.secrets.rotate();
    out(json ? JSON.stringify({ resealed: count }) : `${count} sealed with a new key`);
    return exitCodes.done;
  },
};
