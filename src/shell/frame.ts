import type { Script, Word, WordPart } from 'unbash';
import type { ShellPolicy } from '../core/shell-policy.ts';
import type { Choices } from './choices.ts';
import { asPattern, type Field, type FieldBuilder, quoted } from './field.ts';
import type { Budget } from './limits.ts';
import type { Dialect } from './parse.ts';
import type { Scope, ShellFunction } from './scope.ts';
import type { Origin, Unknowns } from './unknowns.ts';
import { excerpt, Refusal, type RuleName } from './verdict.ts';

/** What is shared by everything looked at while one command is judged. */
interface Inspection {
  readonly policy: Required<ShellPolicy>;
  readonly budget: Budget;
  readonly unknowns: Unknowns;
  /** Files that the command itself wrote, by path, with what is known of their content. */
  readonly files: Map<string, string>;
  /** Links that the command made: where each leads. */
  readonly links: Map<string, string>;
  /** What was set to run at the end of a shell, and where. */
  readonly traps: { readonly text: string; readonly frame: Frame }[];
  /** Which functions start which others as extra processes. */
  readonly spawns: Map<string, Set<string>>;
}

/** The moves of the walk that expansion and programs need, handed down so that modules do not import in circles. */
export interface Shell {
  /** Looks at a parsed script; returns what is known of its output. */
  runScript(script: Script, frame: Frame): string;
  /** As `runScript`, with one text for each output that a script of a single command may have. */
  outputsOf(script: Script, frame: Frame): string[];
  /** Looks at the body of a function. */
  runBody(body: ShellFunction['body'], frame: Frame): string;
  /** Looks at a text as a script, as `eval` and `sh -c` would run it; `guessed` where expansions made it. */
  runText(text: string, frame: Frame, guessed?: boolean): string;
  /** Looks at a program with its arguments. */
  invoke(argv: readonly Field[], frame: Frame): string;
  /** The fields of a word; see `expand.ts`, as for the next two. */
  expandWord(word: Word, frame: Frame): Field[];
  expandText(word: Word, frame: Frame): string;
  expandParts(parts: readonly WordPart[], frame: Frame, out: FieldBuilder): void;
}

/** Where the walk stands. */
export interface Frame {
  readonly shell: Shell;
  readonly inspection: Inspection;
  readonly scope: Scope;
  readonly choices: Choices;
  readonly dialect: Dialect;
  /** The text that node positions point into. */
  readonly source: string;
  /** What is known of standard input. */
  readonly stdin: string;
  /** The command being looked at, for messages. */
  readonly at: string;
  readonly depth: number;
  /** Scripts of `>(…)`, to be run on what the command writes. */
  readonly sinks: Script[];
}

export function refuse(frame: Frame, rule: RuleName, reason: string): never {
  throw new Refusal(rule, reason, excerpt(frame.at));
}

/** A mark for text that this command produces and that cannot be known. */
export function unknown(frame: Frame, origin: Origin, key = frame.at): string {
  return frame.inspection.unknowns.mark(origin, key);
}

/** The folder that relative paths start from; `cd` to a glob leaves a glob. */
export function folder(frame: Frame): Field {
  const pattern = frame.choices.pick(folderVariable, frame.scope.values(folderVariable))?.[0];
  return pattern === undefined ? quoted(frame.inspection.policy.workspace) : asPattern(pattern);
}

export function setFolder(scope: Scope, to: Field): void {
  scope.set(folderVariable, [to.pattern]);
}

/** Not a name that a script can assign to. */
const folderVariable = '.folder';
