import { type CliCommand, exitCodes } from '../../command.ts';

export const configCheckCommand: CliCommand = {
  name: 'config check',
  summary: 'Check the config file and the environment',
  usage: '[--json]',
  examples: [['geode config check', 'names the first setting that is wrong, and the nearest known name']],
  options: {},
  async run({ loaded, json, out }) {
    const { file, settings } = await loaded();
    const changed = settings.filter(({ source }) => source.from !== 'default').map(({ name }) => name);
    if (json) out(JSON.stringify({ file, changed }));
    else out(`ok: ${file.path}${file.found ? '' : ' (does not exist)'}, ${changed.length} settings changed`);
    return exitCodes.done;
  },
};
