import { configPath } from '../../../config/load.ts';
import { type CliCommand, exitCodes, text } from '../../command.ts';

export const configPathCommand: CliCommand = {
  name: 'config path',
  summary: 'Show where the config file is',
  usage: '[--json]',
  examples: [['geode config path', 'the file that is read, whether or not it exists']],
  options: {},
  async run({ json, out, machine, values }) {
    const path = configPath(machine, text(values, 'config'));
    out(json ? JSON.stringify({ path }) : path);
    return exitCodes.done;
  },
};
