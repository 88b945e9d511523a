import type { CliCommand, CliOption, CommandEntry } from './command.ts';

export const exitCodeLines = [
  '0 done; 1 refused or failed, with the reason; 2 wrong usage; 130 interrupted.',
  'run, exec, sandbox exec and shell pass on the exit code of what they run: 124 timed out, 125 could not be run or the host was lost, 128+N killed by signal N.',
  'doctor exits with 1 when a check failed, doctor --attack when an attack succeeded.',
] as const;

export function overviewHelp(commands: readonly CommandEntry[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  return [
    'Geode: sealed sandboxes for AI agents on your machine.',
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
    'Most commands use a host in the background. It starts and stops by itself: see host, status.',
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
