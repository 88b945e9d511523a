/** The words that can be completed, from the table of commands: the same for every shell. */
import type { CliOption, CommandEntry } from '../command.ts';
import { commonOptions } from '../perform.ts';

interface Completed {
  readonly text: string;
  readonly meaning: string;
}

interface CompletedOption extends Completed {
  readonly name: string;
  readonly short: string | undefined;
  readonly takesValue: boolean;
}

export interface CompletedCommand extends Completed {
  readonly options: readonly CompletedOption[];
  /** Possible first words. */
  readonly words: readonly string[];
  /** Names of sandboxes may stand there. */
  readonly takesChat: boolean;
}

export interface CompletionTable {
  /** The first words of all commands: `sandbox` once. */
  readonly first: readonly Completed[];
  /** The second words by the first. */
  readonly families: readonly { readonly first: string; readonly second: readonly Completed[] }[];
  readonly commands: readonly CompletedCommand[];
}

export async function completionTable(entries: readonly CommandEntry[]): Promise<CompletionTable> {
  const commands = await Promise.all(entries.map(completed));
  const familyNames = new Set(entries.map(({ name }) => name.split(' ')).flatMap(familyOf));
  const families = [...familyNames].map((first) => ({
    first,
    second: entries.flatMap(({ name, summary }) =>
      name.startsWith(`${first} `) ? [{ text: name.slice(first.length + 1), meaning: summary }] : [],
    ),
  }));
  const single = entries.filter(({ name }) => !name.includes(' '));
  const named = single.map(({ name, summary }) => ({ text: name, meaning: summary }));
  const others = families.filter(({ first }) => !single.some(({ name }) => name === first));
  return {
    first: [
      ...named,
      ...others.map(({ first, second }) => ({
        text: first,
        meaning: second.map(({ text }) => text).join(', '),
      })),
    ],
    families,
    commands,
  };
}

function familyOf(words: readonly string[]): readonly string[] {
  return words.length > 1 ? words.slice(0, 1) : [];
}

async function completed({ name, summary, load }: CommandEntry): Promise<CompletedCommand> {
  const { options, usage, words = [] } = await load();
  const all: Readonly<Record<string, CliOption>> = { ...commonOptions, ...options };
  return {
    text: name,
    meaning: summary,
    options: Object.entries(all).map(([option, { short, type, description }]) => ({
      name: option,
      text: `--${option}`,
      short,
      meaning: description,
      takesValue: type === 'string',
    })),
    words,
    takesChat: /\bCHAT\b/.test(usage),
  };
}
