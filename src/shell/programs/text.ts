import { type Field, quoted } from '../field.ts';
import { type Frame, folder, unknown } from '../frame.ts';
import { namedFiles, printedWord } from '../named-files.ts';
import { readOptions } from '../options.ts';
import { joinFolder } from '../paths.ts';
import { contentOf, writeFile } from '../written-files.ts';
import type { Call, Program } from './call.ts';
import { formatPrintf, plainEscapes } from './printf.ts';

const silent = 'true false : test [ sleep wait mkdir touch rm chmod chown mkfifo'.split(' ');

/** Programs whose output can be told from their arguments and input. */
export const textPrograms: Readonly<Record<string, Program>> = {
  ...Object.fromEntries(silent.map((name) => [name, () => ''])),
  echo: printWords,
  printf: printFormat,
  pwd: ({ frame }) => `${folder(frame).text}\n`,
  cat: (call) => passThrough(call),
  tac: (call) => passThrough(call),
  head: (call) => passThrough(call),
  tail: (call) => passThrough(call),
  tee: writeInput,
  sponge: writeInput,
  yes: ({ args }) => `${args.map((argument) => argument.text).join(' ')}\n`,
  ls: listFiles,
  dirname: (call) =>
    paths(call, (path) => path.replace(/\/+[^/]*\/*$/, '') || (path.startsWith('/') ? '/' : '.')),
  basename: (call) => paths(call, (path) => path.replace(/\/+$/, '').replace(/^.*\//s, '')),
  realpath: (call) => paths(call, (path) => joinFolder(folder(call.frame), quoted(path)).text),
  readlink: (call) => paths(call, (path) => joinFolder(folder(call.frame), quoted(path)).text),
};

/** `echo` of a POSIX shell reads escapes and that of bash does not, so both outputs count. */
function printWords({ args, frame }: Call): string {
  const start = args.findIndex((argument) => !/^-[neE]+$/.test(argument.text));
  const words = start < 0 ? [] : args.slice(start);
  const options = args.slice(0, start < 0 ? args.length : start).map((argument) => argument.text);
  const flags = options.join('');
  const text = words.map((word) => printedWord(word, frame)).join(' ');
  const decoded = plainEscapes(text) ?? unknown(frame, 'disguised');
  const end = flags.includes('n') ? '' : '\n';
  if (flags.includes('e')) return decoded + end;
  return decoded === text || frame.dialect === 'bash' ? text + end : `${text}\n${decoded}${end}`;
}

function printFormat({ args, frame }: Call): string {
  const words = args.map((argument) => printedWord(argument, frame));
  const [, attached] = /^-v(.*)$/s.exec(words[0] ?? '') ?? [];
  const printed = (given: readonly string[]) => formatPrintf(given) ?? unknown(frame, 'disguised');
  if (attached === undefined) return printed(words[0] === '--' ? words.slice(1) : words);
  const [name = '', ...rest] = attached === '' ? words.slice(1) : [attached, ...words.slice(1)];
  frame.scope.set(name, [printed(rest)]);
  return '';
}

/** The content of the named files, or the input where none is named. */
export function inputOf(files: readonly Field[], frame: Frame): string {
  return (files.length === 0 ? [quoted('-')] : files).map((file) => contentOf(file, frame)).join('');
}

/** Part of the text may be left out; what is known of it is what counts. */
function passThrough({ args, frame }: Call): string {
  const { operands } = readOptions(args, { short: 'ncs', long: ['lines', 'bytes'] });
  return inputOf(
    operands.filter((operand) => !/^[-+]?\d+$/.test(operand.text)),
    frame,
  );
}

function writeInput({ args, frame }: Call): string {
  const { operands, flags } = readOptions(args, {});
  const appends = flags.has('a') || flags.has('append');
  for (const file of operands) writeFile(file, frame.stdin, appends, frame);
  return frame.stdin;
}

function listFiles({ args, frame }: Call): string {
  const files = readOptions(args, { short: 'IwT' }).operands.flatMap((operand) => namedFiles(operand, frame));
  return `${[...files, unknown(frame, 'unknown')].join('\n')}\n`;
}

function paths({ args }: Call, change: (path: string) => string): string {
  return readOptions(args, { short: 's' })
    .operands.map((operand) => `${change(operand.text)}\n`)
    .join('');
}
