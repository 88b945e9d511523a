import { nearest } from '../base/nearest.ts';
import { languageWords } from '../seams/languages.ts';
import type { CommandEntry } from './command.ts';

/** Verbs that people type instead of Geode's own, each with the verb of the command. */
const otherVerbs: Readonly<Record<string, string>> = { list: 'ls', delete: 'rm', remove: 'rm' };
/** Groups whose name alone shows their list, because a list changes nothing. */
const listed: readonly string[] = [
  'approvals',
  'crystals',
  'image',
  'keys',
  'runs',
  'schedule',
  'secrets',
  'tools',
  'webhook',
];

export interface Found {
  readonly entry: CommandEntry;
  /** Its arguments. */
  readonly rest: readonly string[];
}

/** A name is one word or two: `host`, `host stop`; of both the longer is meant. */
export function findCommand(argv: readonly string[], commands: readonly CommandEntry[]): Found | undefined {
  const [first = '', second = '', ...rest] = argv;
  const named = (name: string) => commands.find((each) => each.name === name);
  const two = named(`${first} ${second}`) ?? named(`${first} ${otherVerbs[second] ?? second}`);
  if (two !== undefined) return { entry: two, rest };
  const one =
    named(first) ?? (argv.length === 1 && listed.includes(first) ? named(`${first} ls`) : undefined);
  return one && { entry: one, rest: argv.slice(1) };
}

export function isGroup(first: string, commands: readonly CommandEntry[]): boolean {
  return commands.some(({ name }) => name.startsWith(`${first} `));
}

/** The message for words that are no command, with the nearest that is one. */
export function unknownCommand(
  [first = '', second = '']: readonly string[],
  commands: readonly CommandEntry[],
): string {
  const inGroup = isGroup(first, commands);
  const asked = inGroup ? `${first} ${second}` : first;
  const near = nearestCommand(first, inGroup ? second : '', commands);
  const meant = near === undefined ? '' : ` Did you mean "${near}"?`;
  const what = first.startsWith('-') ? 'option' : 'command';
  return `geode: unknown ${what} "${asked}".${meant}\n  See geode ${inGroup ? `help ${first}` : '--help'}.`;
}

function nearestCommand(
  first: string,
  second: string,
  commands: readonly CommandEntry[],
): string | undefined {
  if (first.startsWith('-')) return nearest(first, ['--help', '--version']);
  const names = commands.map(({ name }) => name);
  if (second !== '') {
    const family = names.filter((name) => name.startsWith(`${first} `));
    return nearest(`${first} ${second}`, family);
  }
  const words = new Set(names.flatMap((name) => [name, name.split(' ')[0] ?? name]));
  const command = nearest(first, [...words]);
  if (command !== undefined && first.length > 2) return command;
  const languages = Object.entries(languageWords).flatMap(([name, { aliases }]) => [name, ...aliases]);
  const language = nearest(first, languages);
  return language === undefined ? command : `run ${language}`;
}
