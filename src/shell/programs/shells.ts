import { Choices } from '../choices.ts';
import { inspectCode } from '../code/inspect.ts';
import { type Field, quoted } from '../field.ts';
import { type Frame, refuse, unknown } from '../frame.ts';
import { type Options, valuesOf } from '../options.ts';
import type { Dialect } from '../parse.ts';
import { hasUnknown, withoutUnknown } from '../unknowns.ts';
import { excerpt } from '../verdict.ts';
import { contentOf, writtenContent } from '../written-files.ts';
import type { Call, Program } from './call.ts';

const dialects: Readonly<Record<string, Dialect>> = {
  sh: 'sh',
  dash: 'sh',
  ash: 'sh',
  bash: 'bash',
  rbash: 'bash',
  zsh: 'bash',
  ksh: 'bash',
  mksh: 'bash',
  fish: 'bash',
};

/** The shells: what they run is a script like any other. */
export const shells: Readonly<Record<string, Program>> = Object.fromEntries(
  Object.keys(dialects).map((name) => [name, runShell]),
);

function runShell({ name, args, frame }: Call): string | undefined {
  const options = readShellOptions(args);
  const [first, ...rest] = options.operands;
  const inner = { ...frame, dialect: dialects[name] ?? 'sh' };
  for (const file of valuesOf(options, 'rcfile', 'init-file')) runApart(contentOf(file, frame), inner);
  for (const start of ['ENV', 'BASH_ENV'].flatMap((variable) => frame.scope.values(variable).flat())) {
    const content = writtenContent(quoted(start), frame);
    if (content !== undefined) runApart(content, inner);
  }
  if (options.flags.has('n') && !options.flags.has('c')) return '';
  if (options.flags.has('c'))
    return first === undefined ? '' : runApart(first.text, inner, rest.slice(1), rest[0], first.dynamic);
  if (first === undefined || first.text === '-' || options.flags.has('s')) {
    return runInput(inner, first?.text === '-' ? rest : options.operands);
  }
  const content = writtenContent(first, frame) ?? (first.text === '/dev/stdin' ? frame.stdin : undefined);
  if (content !== undefined) return runApart(content, inner, rest, first);
  if (frame.inspection.policy.mode === 'strict') {
    refuse(frame, 'dynamic', `The script ${excerpt(first.text)} is not part of the command.`);
  }
  return undefined;
}

const longWithValue = new Set(['--rcfile', '--init-file']);

/**
 * The options of a shell. Unlike others, `o` takes the next word even from the middle of a group, and the
 * letters after it go on as options.
 */
export function readShellOptions(args: readonly Field[]): Options {
  const flags = new Set<string>();
  const values = new Map<string, Field[]>();
  let at = 0;
  for (; at < args.length; at++) {
    const text = args[at]?.text ?? '';
    if (!/^[-+]./.test(text)) break;
    if (text === '--') {
      at++;
      break;
    }
    if (text.startsWith('--')) {
      const value = longWithValue.has(text) ? args[++at] : undefined;
      flags.add(text.slice(2));
      if (value !== undefined) values.set(text.slice(2), [value]);
      continue;
    }
    for (const letter of text.slice(1)) flags.add(letter);
    at += text.replace(/[^oO]/g, '').length;
  }
  return { flags, values, operands: args.slice(at) };
}

/** A shell that takes its commands from its input: what it writes answers to whoever sends them. */
function runInput(frame: Frame, args: readonly Field[]): string {
  const script = frame.stdin;
  // The script has been read by the time its commands read their own input.
  const output = runApart(script, { ...frame, stdin: unknown(frame, 'unknown', 'input') }, args);
  return withoutUnknown(script).trim() === '' ? unknown(frame, 'shell') : output;
}

/** A text run by this very shell, as `eval` does. */
export function runHere(text: string, frame: Frame, guessed = false): string {
  if (frame.inspection.policy.mode === 'strict' && hasUnknown(text)) {
    refuse(frame, 'dynamic', 'Part of the script is not known before it runs.');
  }
  return frame.shell.runText(text, frame, guessed);
}

/** A script of its own: what it sets is lost when it ends, and its arguments are given. */
export function runApart(
  text: string,
  frame: Frame,
  args: readonly Field[] = [],
  name?: Field,
  guessed = false,
): string {
  const scope = frame.scope.fork();
  scope.arguments = args.map((argument) => argument.text);
  if (name !== undefined) scope.scriptName = name.text;
  return runHere(text, { ...frame, scope, choices: new Choices() }, guessed);
}

/** A file that the command wrote itself and now runs, by the program its first line names. */
export function runFile(content: string, file: Field, args: readonly Field[], frame: Frame): string {
  const interpreter = interpreterOf(content);
  const dialect = dialects[interpreter];
  if (dialect !== undefined) return runApart(content, { ...frame, dialect }, args, file);
  inspectCode(content, interpreter, frame);
  return unknown(frame, 'unknown');
}

/** The program that the first line of a script names; a script without such a line is for `sh`. */
function interpreterOf(content: string): string {
  const line = /^#!([^\n]*)/.exec(content)?.[1];
  if (line === undefined) return 'sh';
  const names = line
    .split(/\s+/)
    .filter((word) => word !== '' && !/^-|=/.test(word))
    .map((word) => word.slice(word.lastIndexOf('/') + 1));
  return (names[0] === 'env' ? names[1] : names[0])?.replace(/\d[\d.]*$/, '') ?? 'sh';
}
