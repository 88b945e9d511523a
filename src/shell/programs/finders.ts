import { dropStart, type Field, fillIn, quoted } from '../field.ts';
import { type Frame, unknown } from '../frame.ts';
import { isWideGlob, matchesGlob } from '../glob.ts';
import { readOptions, valuesOf } from '../options.ts';
import { resolvePath } from '../paths.ts';
import { readPlace } from '../place.ts';
import { keyFile, samplePlaces } from '../places.ts';
import { contentOf } from '../written-files.ts';
import type { Call, Program } from './call.ts';
import { plainEscapes } from './printf.ts';
import { runApart } from './shells.ts';

/** Programs that run a command for each of the things they find or read. */
export const finders: Readonly<Record<string, Program>> = {
  find: runFind,
  fd: runFd,
  xargs: runXargs,
  parallel: runParallel,
};

export interface FindSearch {
  /** Where it starts. */
  readonly starts: readonly Field[];
  /** False where it takes everything it meets, or everything of one type. */
  readonly selective: boolean;
  readonly deletes: boolean;
  /** The patterns of `-name` and `-path`. */
  readonly names: readonly Field[];
  readonly commands: readonly (readonly Field[])[];
}

const selecting =
  /^-(?:i?name|i?path|i?wholename|i?regex|[amc](?:time|min)|newer\w*|size|empty|perm|user|uid|group|gid|links|inum|samefile|nouser|nogroup)$/;
const naming = /^-i?(?:name|path|wholename)$/;
const running = /^-(?:exec|execdir|ok|okdir)$/;

export function readFind(args: readonly Field[]): FindSearch {
  const expression = args.findIndex(
    (argument, index) => /^[-(!]/.test(argument.text) && !/^-[HLPDO]/.test(args[index]?.text ?? ''),
  );
  const end = expression < 0 ? args.length : expression;
  const starts = args.slice(0, end).filter((argument) => !argument.text.startsWith('-'));
  const names: Field[] = [];
  const commands: Field[][] = [];
  let selective = false;
  let deletes = false;
  for (let at = end; at < args.length; at++) {
    const text = args[at]?.text ?? '';
    const value = args[at + 1];
    if (running.test(text)) {
      const command: Field[] = [];
      for (at++; at < args.length && args[at]?.text !== ';'; at++) {
        const field = args[at];
        if (field === undefined || (field.text === '+' && command.at(-1)?.text === '{}')) break;
        command.push(field);
      }
      commands.push(command);
    } else if (text === '-delete') {
      deletes = true;
    } else if (selecting.test(text)) {
      // A search for all but something takes nearly everything.
      const negated = /^(?:!|-not)$/.test(args[at - 1]?.text ?? '');
      if (naming.test(text) && value !== undefined) names.push(value);
      selective ||= !negated && (value === undefined || !isWideGlob(value.text));
    }
  }
  return { starts: starts.length > 0 ? starts : [quoted('.')], selective, deletes, names, commands };
}

/** Each command of `-exec` is looked at with what `{}` may be: the start itself, or the key files below it. */
function runFind({ args, frame }: Call): string {
  const search = readFind(args);
  const keys = keysFound(search, frame);
  // Whoever only looks at everything may meet keys without asking for them, so these come after the rest.
  const met = search.selective ? [...keys, fileFound(frame)] : [...search.starts, fileFound(frame), ...keys];
  for (const command of search.commands) {
    for (const found of asked(command, met, frame)) {
      frame.shell.invoke(
        command.map((word) => fillIn(word, '{}', found)),
        frame,
      );
    }
  }
  const end = args.some((argument) => argument.text === '-print0') ? '\0' : '\n';
  return met.map((found) => found.text + end).join('');
}

function fileFound(frame: Frame): Field {
  return quoted(unknown(frame, 'unknown', 'a file found'));
}

/** The files that a command was meant for: not the keys that `grep` or `ls` meets when it is given everything. */
function asked(command: readonly Field[], files: readonly Field[], frame: Frame): readonly Field[] {
  if (!onlyTells.has(command[0]?.text ?? '')) return files;
  const end = files.findIndex((file) => file.text === fileFound(frame).text);
  return end < 0 ? files : files.slice(0, end + 1);
}

/** Programs that tell something about many files without showing them. */
const onlyTells = new Set(
  'grep egrep fgrep rg ls stat file wc du md5sum sha256sum chmod chown touch'.split(' '),
);

/** The key files below the start that the search would take. */
function keysFound(search: FindSearch, frame: Frame): Field[] {
  const starts = search.starts.map((start) => resolvePath(start, frame)).filter((start) => start.rooted);
  return samplePlaces(frame.inspection.policy)
    .filter((place) => keyFile(resolvePath(quoted(place), frame), frame.inspection.policy) !== undefined)
    .filter((place) => {
      const { parts } = readPlace(place);
      const isBelow = starts.some((start) =>
        start.parts.every((part, index) => matchesGlob(part, parts[index] ?? '')),
      );
      const name = parts.at(-1) ?? '';
      const isNamed = search.names.some(({ text }) => matchesGlob(text, text.includes('/') ? place : name));
      return isBelow && (isNamed || !search.selective);
    })
    .map((place) => quoted(place));
}

function runFd({ args, frame }: Call): string | undefined {
  const at = args.findIndex((argument) => /^(?:-x|-X|--exec|--exec-batch)$/.test(argument.text));
  if (at >= 0) {
    const found = fileFound(frame);
    frame.shell.invoke(
      args.slice(at + 1).map((word) => fillIn(word, '{}', found)),
      frame,
    );
  }
  return undefined;
}

/** `xargs`: the words of the input become arguments, or fill the placeholder of `-I`. */
function runXargs({ args, frame }: Call): string {
  const options = readOptions(args, {
    short: 'adEILnPs',
    long: ['arg-file', 'delimiter', 'max-args', 'max-procs', 'max-chars', 'replace', 'max-lines'],
    stopsAtOperand: true,
  });
  const [file] = valuesOf(options, 'a', 'arg-file');
  const input = file === undefined ? frame.stdin : contentOf(file, frame);
  const [replace] = valuesOf(options, 'I', 'replace');
  const placeholder = replace?.text ?? (options.flags.has('i') ? '{}' : undefined);
  const [delimiter] = valuesOf(options, 'd', 'delimiter');
  const exact =
    options.flags.has('0') || options.flags.has('null')
      ? '\0'
      : delimiter && plainEscapes(delimiter.text)?.charAt(0);
  const items =
    exact === undefined
      ? inputWords(input, placeholder !== undefined)
      : input.split(exact).filter((item) => item !== '');
  const command = options.operands.length > 0 ? options.operands : [quoted('echo')];
  const values = asked(command, items.map(quoted), frame);
  const inner = { ...frame, stdin: file === undefined ? '' : frame.stdin };
  if (placeholder === undefined) return frame.shell.invoke([...command, ...values], inner);
  return values
    .map((value) =>
      frame.shell.invoke(
        command.map((word) => fillIn(word, placeholder, value)),
        inner,
      ),
    )
    .join('');
}

/** The words of a text as `xargs` and `env -S` read them: quotes and backslashes protect, nothing else is special. */
export function inputWords(text: string, byLine = false): string[] {
  const words: string[] = [];
  let word: string | undefined;
  for (const [piece, single, double, escaped, gap] of text.matchAll(
    /'([^'\n]*)'|"([^"\n]*)"|\\(.)|([\s\0]+)|./gs,
  )) {
    const ends = gap !== undefined && (!byLine || /[\n\0]/.test(gap));
    if (ends) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      word = (word ?? '') + (single ?? double ?? escaped ?? piece);
    }
  }
  return word === undefined ? words : [...words, word];
}

/** `parallel 'command {}' ::: a b`: each line is given to a shell. */
function runParallel({ args, frame }: Call): string {
  const separator = args.findIndex((argument) => /^:::\+?$/.test(argument.text));
  const before = separator < 0 ? args : args.slice(0, separator);
  const { operands } = readOptions(before, {
    short: 'jPaSnNIL',
    long: ['jobs', 'arg-file', 'delay', 'timeout', 'retries', 'joblog', 'results', 'colsep', 'sshlogin'],
    stopsAtOperand: true,
  });
  const items =
    separator < 0
      ? frame.stdin.split('\n').filter((line) => line !== '')
      : args.slice(separator + 1).map((item) => item.text);
  const command = operands.map((operand) => operand.text).join(' ');
  return items
    .map((item) => {
      const line =
        command === ''
          ? item
          : /\{[^{}]*\}/.test(command)
            ? command.replace(/\{[^{}]*\}/g, () => item)
            : `${command} ${item}`;
      return runApart(line, { ...frame, stdin: '' });
    })
    .join('');
}

/** The value of a `name=value` operand, as `dd` and `make` take them. */
export function operandValue(args: readonly Field[], name: string): Field | undefined {
  const operand = args.find((argument) => argument.text.startsWith(`${name}=`));
  return operand && dropStart(operand, name.length + 1);
}
