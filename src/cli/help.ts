import type { CliCommand, CliOption, CommandEntry } from './command.ts';

export const exitCodeLines = [
  '0 done; 1 refused or failed, with the reason; 2 wrong usage; 130 interrupted.',
  'run, exec, sandbox exec and shell pass on the exit code of what they run: 124 timed out, 125 could not be run or the host was lost, 128+N killed by signal N.',
  'doctor exits with 1 when a check failed, doctor --attack when an attack succeeded.',
] as const;

/** A line of `geode --help`: a command, or a group of commands that start with this word. */
interface Topic {
  readonly name: string;
  readonly summary?: string;
}

interface Section {
  readonly title: string;
  readonly topics: readonly Topic[];
}

/** The tasks of people. Every other command is only named. */
const sections: readonly Section[] = [
  { title: 'Run code', topics: [{ name: 'run' }, { name: 'repl' }, { name: 'exec' }] },
  {
    title: 'Sandboxes',
    topics: [
      { name: 'sandbox', summary: 'Create, list, stop and remove sandboxes; files, logs, snapshots' },
      { name: 'shell' },
    ],
  },
  {
    title: 'Agents and chat',
    topics: [
      { name: 'agent' },
      { name: 'claude' },
      { name: 'chat' },
      { name: 'schedule', summary: 'Schedule messages' },
    ],
  },
  {
    title: 'Solve and remember',
    topics: [{ name: 'solve' }, { name: 'memory', summary: 'Store and search what agents should remember' }],
  },
  {
    title: 'Network and secrets',
    topics: [
      { name: 'egress', summary: 'Allow, deny and log network access' },
      { name: 'approvals', summary: 'Answer what waits for you' },
      { name: 'webhook', summary: 'Send events of your sandboxes to a server of yours' },
      { name: 'secrets', summary: 'Store credentials that never enter a sandbox' },
    ],
  },
];

/** `geode --help`. */
export function overviewHelp(commands: readonly CommandEntry[]): string {
  const shown = sections.flatMap(({ topics }) => topics.map(({ name }) => name));
  const firstWords = [...new Set(commands.map(({ name }) => name.split(' ')[0] ?? name))];
  const others = firstWords.filter((name) => !shown.includes(name));
  return [
    'Usage: geode COMMAND [OPTION …]',
    '',
    ...sections.flatMap(({ title, topics }) => [
      title,
      ...topics.map(({ name, summary = summaryOf(name, commands) }) => `  ${name.padEnd(11)} ${summary}`),
    ]),
    'Set up and operate',
    ...wrapped(others.join(', ')),
    '',
    'geode help COMMAND     options and examples      geode help exit-codes',
  ].join('\n');
}

/** The commands that start with a word: `geode help sandbox`. */
export function groupHelp(first: string, commands: readonly CommandEntry[]): string {
  const members = commands.filter(({ name }) => name.startsWith(`${first} `));
  const width = Math.max(...members.map(({ name }) => name.length));
  return [
    `Usage: geode ${first} COMMAND [OPTION …]`,
    '',
    ...members.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    '',
    `geode help ${first} COMMAND     options and examples`,
  ].join('\n');
}

export function exitCodesHelp(): string {
  return ['Exit codes', '', ...exitCodeLines.map((line) => `  ${line}`)].join('\n');
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

function summaryOf(name: string, commands: readonly CommandEntry[]): string {
  return commands.find((each) => each.name === name)?.summary ?? '';
}

function flagOf(name: string, { short, value, type }: CliOption): string {
  const head = short === undefined ? `    --${name}` : `-${short}, --${name}`;
  return type === 'string' ? `${head} ${value ?? 'TEXT'}` : head;
}

/** Words in lines of a terminal's width, indented. */
function wrapped(text: string): readonly string[] {
  return text.match(/.{1,74}(?:\s|$)/g)?.map((line) => `  ${line.trimEnd()}`) ?? [];
}
