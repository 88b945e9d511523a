/** Divides a command line into the options of Geode and what belongs to the program that is run. */
import { languageOfFile } from '../../seams/languages.ts';
import type { CliOption } from '../command.ts';
import { wrongUsage } from './values.ts';

export interface SplitArguments {
  /** For Geode to parse. */
  readonly before: readonly string[];
  /** Positional arguments, unchanged. */
  readonly after: readonly string[];
}

type Options = Readonly<Record<string, CliOption>>;

/** `geode exec --runtime docker python3 -c …`: what follows the program is the program's. */
export function atProgram(argv: readonly string[], options: Options): SplitArguments {
  const at = endOfOptions(argv, options);
  return { before: argv.slice(0, at), after: argv.slice(argv[at] === '--' ? at + 1 : at) };
}

/**
 * `geode run python --timeout 3 -c CODE ARGUMENT …`: options stand before and after the language, up to the code.
 * Arguments after the code belong to the code. An option of Geode there is refused, since it would have no effect;
 * after `--` everything is the code's.
 */
export function atCode(argv: readonly string[], options: Options): SplitArguments {
  const { before, after } = atProgram(argv, options);
  const [first, ...rest] = after;
  if (first === undefined) return { before, after };
  const more = languageOfFile(first) === undefined ? endOfOptions(rest, options) : 0;
  const source = [first, ...rest.slice(more, more + codeWords(rest[more], first))];
  const words = rest.slice(more + source.length - 1);
  const dashes = words.indexOf('--');
  const own = words.slice(0, dashes === -1 ? undefined : dashes);
  const misplaced = own.find((word) => optionOf(word, options) !== undefined);
  if (misplaced !== undefined)
    throw wrongUsage(
      `${misplaced} comes after the code: put it before, or put -- first if it is for the code`,
    );
  const args = dashes === -1 ? words : words.toSpliced(dashes, 1);
  return { before: [...before, ...rest.slice(0, more)], after: [...source, ...args] };
}

/** Number of arguments after the language that name the code. */
function codeWords(flag: string | undefined, first: string): number {
  if (languageOfFile(first) !== undefined) return 0;
  return flag === '-c' ? 2 : 1;
}

/** The first word that is neither an option of Geode nor its value. */
function endOfOptions(argv: readonly string[], options: Options): number {
  for (let index = 0; index < argv.length; index += 1) {
    const word = argv[index] ?? '';
    if (!word.startsWith('-') || word === '-' || word === '--' || word === '-c') return index;
    if (optionOf(word, options)?.type === 'string' && !word.includes('=')) index += 1;
  }
  return argv.length;
}

/** `--name`, `--name=value`, `-n`, or the last of several letters. */
function optionOf(word: string, options: Options): CliOption | undefined {
  const last = /^-\w{2,}$/.test(word) ? `-${word.at(-1)}` : word.replace(/=.*$/s, '');
  return Object.entries(options).find(
    ([name, { short }]) => last === `--${name}` || (short !== undefined && last === `-${short}`),
  )?.[1];
}
