import type { Setting } from '../../../config/load.ts';
import { masked } from '../../../config/masked.ts';
import { type CliCommand, exitCodes } from '../../command.ts';
import { table } from '../../render/table.ts';

const longestShown = 60;

export const configCommand: CliCommand = {
  name: 'config',
  summary: 'Show every setting, its value and its source',
  usage: '[--json]',
  examples: [
    ['geode config', 'all settings with the values in use'],
    ['GEODE_RUNTIME_NAME=docker geode config', 'an environment variable overrides the file'],
  ],
  options: {},
  async run({ loaded, json, out }) {
    const { settings: all, file } = await loaded();
    const settings = all.map((setting) => ({ ...setting, value: masked(setting) }));
    if (json) out(JSON.stringify(settings, null, 2));
    else {
      const rows = settings.map(({ name, value, source, meaning }) => [
        name,
        shortened(JSON.stringify(value) ?? '(not set)'),
        place(source),
        meaning,
      ]);
      for (const line of table([['SETTING', 'VALUE', 'FROM', 'MEANING'], ...rows])) out(line);
      out(
        `\nConfig file: ${file.path}${file.found ? '' : ' (does not exist; create it to change a setting)'}`,
      );
    }
    return exitCodes.done;
  },
};

function shortened(text: string): string {
  return text.length > longestShown ? `${text.slice(0, longestShown)}…` : text;
}

function place(source: Setting['source']): string {
  if (source.from === 'file') return source.path;
  return source.from === 'variable' ? source.name : 'default';
}
