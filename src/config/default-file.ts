import type { Machine } from '../machine/machine.ts';
import { settingsOf } from './load.ts';

/**
 * The config file before anything is set: every setting as a comment, with its meaning and its default. Without the
 * slashes at the start of its lines it is the same config.
 */
export function defaultConfigText(machine: Machine): string {
  const sections = Map.groupBy(settingsOf(machine), ({ name }) => name.split('.')[0] ?? '');
  const lines = [...sections].flatMap(([section, settings]) => [
    `//"${section}": {`,
    ...settings.flatMap(({ name, meaning, value }) => [
      `//  // ${meaning}`,
      value === undefined
        ? `//  // "${name.slice(section.length + 1)}" is not set`
        : `//  ${JSON.stringify(name.slice(section.length + 1))}: ${JSON.stringify(value)},`,
    ]),
    '//},',
  ]);
  return [
    '// The settings of Geode with their defaults. To change one, remove the slashes before it and before the',
    '// lines of its section, or use `geode config set NAME VALUE`. `geode config check` checks this file.',
    '{',
    ...lines.map((line) => `  ${line}`),
    '}',
    '',
  ].join('\n');
}
