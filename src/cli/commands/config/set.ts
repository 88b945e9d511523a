import { fromText, settingNamed } from '../../../config/load.ts';
import { changeSetting } from '../../change-setting.ts';
import type { CliCommand } from '../../command.ts';
import { wrongUsage } from '../../input/values.ts';

export const configSetCommand: CliCommand = {
  name: 'config set',
  summary: 'Change a setting in the config file',
  usage: 'NAME VALUE',
  examples: [
    ['geode config set sandbox.memory 1g', 'comments and other settings of the file stay'],
    ['geode config set egress.allow \'["npm", "pypi"]\'', 'lists and objects are JSON'],
  ],
  options: {},
  async run(context) {
    const [name, value, ...more] = context.positionals;
    if (name === undefined || value === undefined || more.length > 0)
      throw wrongUsage('geode config set takes a name and a value');
    const setting = settingNamed(name, context.machine);
    return changeSetting({ ...setting, value: fromText(value) }, context);
  },
};
