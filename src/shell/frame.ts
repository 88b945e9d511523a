import type { ShellPolicy } from '../seams/shell-policy.ts';
import { type Budget, policyLimits } from './limits.ts';
import { CommandRefusal, excerpt, type RuleName } from './verdict.ts';

/** The source of a text, if that alone forbids running it. */
export type Source = 'downloaded' | 'connection' | 'shell' | 'decoded';

/** The standard input or output of a command: its source, and its text if the script contains it literally. */
export interface Stream {
  readonly source?: Source | undefined;
  readonly text?: string | undefined;
}

/** One word of a command, as the program receives it. */
export interface Argument {
  readonly text: string;
  /** The text with every quoted `*`, `?`, `[` and backslash escaped: the others are glob characters. */
  readonly pattern: string;
  /** Contains an expansion that the policy does not compute. */
  readonly dynamic: boolean;
  readonly source?: Source | undefined;
}

/** The context that checking one command needs. */
export interface CommandFrame {
  readonly policy: Required<ShellPolicy>;
  readonly budget: Budget;
  readonly depth: number;
  /** The script that contains the command. */
  readonly script: string;
  /** The command to show in a refusal. */
  readonly at: string;
  readonly input: Stream;
  /** The working folder; undefined if only running the script would show it. Shared by a list of commands. */
  readonly place: { folder: string | undefined };
  /** The functions that the script has defined so far. */
  readonly functions: Set<string>;
}

/** Placeholder for text that the policy does not compute. */
export const unknown = '\uE000';

export function refuse(frame: CommandFrame, rule: RuleName, reason: string): never {
  throw new CommandRefusal(rule, reason, excerpt(frame.at));
}

/** The frame of a script inside a script. Folder changes stay inside. */
export function nested(frame: CommandFrame, change: Partial<CommandFrame> = {}): CommandFrame {
  if (frame.depth >= policyLimits.depth) refuse(frame, 'too-complex', 'The command is nested too deeply.');
  return { ...frame, depth: frame.depth + 1, place: { ...frame.place }, ...change };
}

export function literal(text: string): Argument {
  return { text, pattern: protect(text), dynamic: false };
}

export function protect(text: string): string {
  return text.replace(/[\\*?[\]]/g, '\\$&');
}

/** An argument without its first characters: the value of `-ofile`, `of=file`. */
export function dropStart(argument: Argument, characters: number): Argument {
  let at = 0;
  for (let dropped = 0; dropped < characters && at < argument.pattern.length; dropped++) {
    at += argument.pattern[at] === '\\' ? 2 : 1;
  }
  return { ...argument, text: argument.text.slice(characters), pattern: argument.pattern.slice(at) };
}

/** Refuses to run a text because of its source. */
export function checkSource(source: Source | undefined, frame: CommandFrame): void {
  if (source === 'downloaded') {
    refuse(frame, 'download-and-run', 'It would run a download that nobody has checked.');
  } else if (source === 'decoded') {
    refuse(frame, 'hidden-command', 'It would run an encoded command that cannot be checked.');
  } else if (source !== undefined) {
    refuse(frame, 'reverse-shell', 'It would run commands from a network connection.');
  }
}
