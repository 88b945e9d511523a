import { settingNamed } from '../../../config/load.ts';
import { changeSetting } from '../../change-setting.ts';
import type { CliCommand } from '../../command.ts';
import { onePositional } from '../../input/values.ts';

export const configUnsetCommand: CliCommand = {
  name: 'config unset',
  summary: 'Set a setting back to its default',
  usage: 'NAME',
  examples: [['geode config unset sandbox.memory', 'removes it from the config file']],
  options: {},
  async run(context) {
    const { name } = settingNamed(onePositional(context, 'NAME'), context.machine);
    return changeSetting({ name, value: undefined, meaning: '' }, context);
  },
};
