import { settingNamed } from '../../../config/load.ts';
import { masked } from '../../../config/masked.ts';
import { type CliCommand, exitCodes } from '../../command.ts';
import { onePositional } from '../../input/values.ts';

export const configGetCommand: CliCommand = {
  name: 'config get',
  summary: 'Show the value of a setting',
  usage: 'NAME',
  examples: [['geode config get sandbox.memory', 'the value in use, wherever it was set']],
  options: {},
  async run(context) {
    const { name } = settingNamed(onePositional(context, 'NAME'), context.machine);
    const setting = (await context.loaded()).settings.find((each) => each.name === name);
    const value = setting && masked(setting);
    if (context.json) context.out(JSON.stringify({ ...setting, value }));
    else if (value !== undefined) context.out(typeof value === 'string' ? value : JSON.stringify(value));
    return exitCodes.done;
  },
};
