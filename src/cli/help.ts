import type { CliCommand, CliOption, CommandEntry } from './command.ts';

export const exitCodeLines = [
  '0 done; 1 refused or failed, with the reason; 2 wrong usage; 130 interrupted.',
  'run, exec, sandbox exec and shell pass on the exit code of what they run: 124 it timed out, 125 it could not be run or the host was lost, 128+N it was killed by signal N.',
  'doctor ends with 1 when something stands in the way, doctor --attack when something got through.',
] as const;

export function overviewHelp(commands: readonly CommandEntry[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  return [
    'Geode: a sealed room for each AI agent, on your own machine.',
    '',
    'Usage: geode COMMAND [OPTION …]',
    '',
    ...commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    '',
    'geode COMMAND --help shows options and examples. Every command takes --json. geode --version names the version.',
    '',
    'Exit codes:',
    ...exitCodeLines.map((line) => `  ${line}`),
    '',
    'Most commands ask a host in the background, which starts by itself and ends when it is not needed: see host, status.',
  ].join('\n');
}

export function commandHelp(command: CliCommand, options: Readonly<Record<string, CliOption>>): string {
  const flags = Object.entries(options).map(([name, option]) => ({
    flag: flagOf(name, option),
    text: option.description,
  }));
  const width = Math.max(0, ...flags.map(({ flag }) => flag.length));
  return [
    `geode ${command.name}: ${command.summary}.`,
    '',
    `Usage: geode ${command.name} ${command.usage}`.trimEnd(),
    '',
    ...flags.map(({ flag, text }) => `  ${flag.padEnd(width)}  ${text}`),
    ...(flags.length === 0 ? [] : ['']),
    'Examples:',
    ...command.examples.flatMap(([line, meaning]) => [`  ${line}`, `      ${meaning}`]),
  ].join('\n');
}

function flagOf(name: string, { short, value, type }: CliOption): string {
  const head = short === undefined ? `    --${name}` : `-${short}, --${name}`;
  return type === 'string' ? `${head} ${value ?? 'TEXT'}` : head;
}
