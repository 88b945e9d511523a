import { type Field, quoted } from '../field.ts';
import { type Frame, folder, refuse, setFolder, unknown } from '../frame.ts';
import { readOptions } from '../options.ts';
import { parameterItems, separators } from '../parameter.ts';
import { joinFolder } from '../paths.ts';
import { setVariable } from '../variables.ts';
import { excerpt } from '../verdict.ts';
import { contentOf, writtenContent } from '../written-files.ts';
import type { Call, Program } from './call.ts';
import { runApart, runHere } from './shells.ts';

/** The builtins of the shell that change what later commands mean, or run text. */
export const builtins: Readonly<Record<string, Program>> = {
  cd: changeFolder,
  pushd: changeFolder,
  eval: ({ args, frame }) =>
    runHere(
      args.map((argument) => argument.text).join(' '),
      frame,
      args.some((argument) => argument.dynamic),
    ),
  source: readScript,
  '.': readScript,
  exec: ({ args, frame }) =>
    frame.shell.invoke(readOptions(args, { short: 'a', stopsAtOperand: true }).operands, frame),
  builtin: ({ args, frame }) => frame.shell.invoke(args, frame),
  command: ({ args, frame }) => {
    const { flags, operands } = readOptions(args, { stopsAtOperand: true });
    return flags.has('v') || flags.has('V') ? located(operands) : frame.shell.invoke(operands, frame);
  },
  which: ({ args }) => located(args),
  trap: ({ args, frame }) => {
    const [action, ...signals] = args.filter((argument) => argument.text !== '--');
    if (action !== undefined && signals.length > 0 && !action.text.startsWith('-')) {
      frame.shell.runText(action.text, { ...frame, scope: frame.scope.fork() });
      frame.inspection.traps.push({ text: action.text, frame });
    }
    return '';
  },
  alias: ({ args, frame }) => {
    for (const argument of args) {
      const [, name, text] = /^([^=]+)=(.*)$/s.exec(argument.text) ?? [];
      if (name === undefined || text === undefined) continue;
      frame.shell.runText(text, { ...frame, scope: frame.scope.fork() });
      frame.scope.setAlias(name, text);
    }
    return '';
  },
  set: setOptions,
  shift: ({ args, frame }) => {
    const count = Number(args[0]?.text ?? 1);
    frame.scope.arguments = frame.scope.arguments?.slice(Number.isSafeInteger(count) ? count : 1);
    return '';
  },
  let: evaluate,
  unset: ({ args, frame }) => {
    evaluate({ args, frame });
    for (const argument of args) frame.scope.unset(argument.text);
    return '';
  },
  export: declare,
  declare,
  typeset: declare,
  local: declare,
  readonly: declare,
  read,
  mapfile: readLines,
  readarray: readLines,
};

function changeFolder({ args, frame }: Call): string {
  const target = args.find((argument) => argument.text === '-' || !/^[-+]/.test(argument.text));
  if (target === undefined) setFolder(frame.scope, quoted(parameterItems('HOME', frame)?.[0] ?? '/'));
  else if (target.text === '-') setFolder(frame.scope, quoted(unknown(frame, 'unknown', 'OLDPWD')));
  else if (target.text !== '') setFolder(frame.scope, joinFolder(folder(frame), target));
  return '';
}

function readScript({ args, frame }: Call): string | undefined {
  const [file, ...rest] = args;
  if (file === undefined) return '';
  const content = writtenContent(file, frame) ?? (file.text === '/dev/stdin' ? frame.stdin : undefined);
  if (content !== undefined)
    return rest.length > 0 ? runApart(content, frame, rest) : runHere(content, frame);
  if (frame.inspection.policy.mode === 'strict') {
    refuse(frame, 'dynamic', `The script ${excerpt(file.text)} is not part of the command.`);
  }
  return undefined;
}

function located(programs: readonly Field[]): string {
  return programs
    .filter((program) => !program.text.startsWith('-'))
    .map((program) => `/usr/bin/${program.text}\n`)
    .join('');
}

/** `set -u` and `set -- words`. */
function setOptions({ args, frame }: Call): string {
  const end = args.findIndex((argument) => argument.text === '--' || !/^[-+]/.test(argument.text));
  const options = (end < 0 ? args : args.slice(0, end)).map((argument) => argument.text);
  if (
    options.some((option) => /^-\w*u/.test(option)) ||
    args.some((argument) => argument.text === 'nounset')
  ) {
    frame.scope.failsOnUnset = true;
  }
  const isLongName = options.at(-1)?.endsWith('o') === true;
  if (end >= 0 && !isLongName) {
    frame.scope.arguments = args
      .slice(args[end]?.text === '--' ? end + 1 : end)
      .map((argument) => argument.text);
  }
  return '';
}

/** An index such as `a[$(command)]` is evaluated even where it was quoted. */
function evaluate({ args, frame }: Pick<Call, 'args' | 'frame'>): string {
  for (const { text } of args) {
    const index = /\[(.*(?:\$\(|`).*)\]/s.exec(text)?.[1];
    if (index !== undefined) frame.shell.runText(`: "${index.replaceAll('"', '')}"`, frame);
  }
  return '';
}

function declare({ args, frame }: Call): string {
  for (const argument of args) {
    const [, name, append, text = ''] = /^([A-Za-z_][\w[\]]*)(\+?)=(.*)$/s.exec(argument.text) ?? [];
    if (name === undefined) continue;
    const value = /^~(?=\/|$)/.test(text) ? (parameterItems('HOME', frame)?.[0] ?? '') + text.slice(1) : text;
    setVariable(name, [value], frame, true, append === '+');
  }
  return '';
}

/** `read a b`: the lines of the input, each a value that the variables may have. */
function read({ args, frame }: Call): string {
  evaluate({ args, frame });
  const { operands } = readOptions(args, { short: 'adinNptu' });
  const names = operands.map((operand) => operand.text);
  const lines = frame.stdin.split('\n').filter((line) => line !== '');
  const rows = (lines.length === 0 ? [unknown(frame, 'unknown', 'a line read')] : lines).map((line) =>
    cut(line, Math.max(1, names.length), frame),
  );
  (names.length === 0 ? ['REPLY'] : names).forEach((name, column) => {
    const values = [...new Set(rows.map((row) => row[column] ?? ''))].map((text) => [text]);
    frame.scope.set(name, ...values);
  });
  return '';
}

function cut(line: string, columns: number, frame: Frame): string[] {
  const between = separators(frame);
  const isBetween = (character: string) => between.includes(character);
  const pieces: string[] = [];
  let rest = line;
  while (pieces.length < columns - 1) {
    const start = [...rest].findIndex((character) => !isBetween(character));
    if (start < 0) break;
    const end = [...rest].findIndex((character, index) => index > start && isBetween(character));
    pieces.push(rest.slice(start, end < 0 ? undefined : end));
    rest = end < 0 ? '' : rest.slice(end + 1);
  }
  return [...pieces, between === '' ? rest : rest.trim()];
}

function readLines({ args, frame }: Call): string {
  const { operands } = readOptions(args, { short: 'dnOsuCc' });
  frame.scope.set(operands[0]?.text ?? 'MAPFILE', contentOf(quoted('-'), frame).split('\n'));
  return '';
}
