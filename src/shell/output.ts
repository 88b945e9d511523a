import { type Argument, literal, type Source, type Stream } from './frame.ts';
import { given, readOptions, valuesOf } from './options.ts';
import type { ProgramCall } from './rules/rule.ts';

const fetchers = new Set(
  'curl wget aria2c fetch http https httpie lynx w3m links elinks ftp lftp tftp'.split(' '),
);
const connectors = new Set('nc ncat netcat nc.traditional nc.openbsd telnet socat ztcp'.split(' '));
const decoders = new Set(['base64', 'base32', 'basenc']);

/** The output of a program: its text if the command contains it literally, otherwise its source. */
export function outputStreamOf(call: ProgramCall): Stream {
  const { name, args, frame } = call;
  if (name === 'echo' || name === 'printf') return printed(name, args);
  if (name === 'cat' || name === 'tee') {
    const files = readOptions(args, {}).operands;
    if (files.length === 0 || name === 'tee') return frame.input;
    return { source: files.find(({ source }) => source !== undefined)?.source };
  }
  return { source: sourceOf(call) };
}

function sourceOf({ name, args, frame }: ProgramCall): Source | undefined {
  const { source } = frame.input;
  if (fetchers.has(name)) return 'downloaded';
  if (connectors.has(name)) return 'connection';
  if (name === 'openssl' && args[0]?.text === 's_client') return 'connection';
  const isDecoder =
    (decoders.has(name) && args.some(({ text }) => /^-(?:[^-]*[dD]|-decode)/.test(text))) ||
    (name === 'xxd' && given(readOptions(args, { short: 'wcglos' }), 'r', 'revert')) ||
    (name === 'openssl' && args.some(({ text }) => text === '-d')) ||
    name === 'uudecode';
  return isDecoder ? (source ?? 'decoded') : source;
}

/** `echo` and `printf` with one plain format: their words, with `\n` as a line end. */
function printed(name: string, args: readonly Argument[]): Stream {
  const words =
    name === 'echo' ? args.filter(({ text }, index) => index > 0 || !/^-[neE]+$/.test(text)) : args;
  const source = words.find((word) => word.source !== undefined)?.source;
  if (words.some(({ dynamic }) => dynamic)) return { source };
  const [format, ...values] = words.map(({ text }) => text.replaceAll('\\n', '\n'));
  if (name === 'echo') return { text: `${[format ?? '', ...values].join(' ')}\n` };
  const isPlain = format !== undefined && !/\\[^n]/.test(format);
  if (!isPlain) return {};
  let next = 0;
  return { text: format.replace(/%[sb]/g, () => values[next++] ?? '') };
}

/** The words that `xargs` reads from a text. */
export function inputWords(text: string): Argument[] {
  return text
    .split(/\s+/)
    .filter((word) => word !== '')
    .map((word) => literal(word.replace(/^(['"])(.*)\1$/, '$2')));
}

/** The values of an option that names a script, such as `-c`. */
export function scriptsOf(args: readonly Argument[], short: string, ...names: string[]): Argument[] {
  return valuesOf(readOptions(args, { short, long: names, stopsAtOperand: false }), 'c', ...names);
}
