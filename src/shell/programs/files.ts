import { type Field, quoted } from '../field.ts';
import type { Frame } from '../frame.ts';
import { readOptions, valuesOf } from '../options.ts';
import { fileKey } from '../paths.ts';
import { writeFile, writtenContent } from '../written-files.ts';
import type { Call, Program } from './call.ts';
import { runApart } from './shells.ts';

/** Programs that move files about, and those with an option that names a command to run. */
export const filePrograms: Readonly<Record<string, Program>> = {
  cp: copy,
  mv: copy,
  ln: link,
  install: copy,
  tar: (call) =>
    runValues(
      call,
      'fCTXbHIgLNK',
      ['to-command', 'use-compress-program', 'checkpoint-action', 'info-script'],
      ['I'],
    ),
  rsync: (call) => runValues(call, 'efMTB', ['rsh', 'rsync-path'], ['e']),
  git: runGit,
  sed: runSed,
  expect: runExpect,
  tmux: runQuoted,
  screen: runQuoted,
  crontab: runCrontab,
  at: runInput,
  batch: runInput,
  ...Object.fromEntries(['vi', 'vim', 'nvim', 'ex', 'view', 'rvim'].map((name) => [name, runEditor])),
};

const programFolder = /^\/(?:usr\/(?:local\/)?)?s?bin\/[\w.+*?[\]-]+$/;

/** A link to a folder is another way into it. */
function link(call: Call): undefined {
  copy(call);
  const [target, name] = readOptions(call.args, { short: 'tS' }).operands;
  if (target === undefined || name === undefined) return;
  const from = fileKey(target, call.frame);
  const base = target.text.replace(/\/+$/, '').replace(/^.*\//s, '');
  for (const at of [name, quoted(`${name.text}/${base}`)]) {
    call.frame.inspection.links.set(fileKey(at, call.frame).replace(/^\//, ''), from);
  }
}

/** A copy has the content of the original; a copy of a program is that program under another name. */
function copy({ args, frame }: Call): undefined {
  const options = readOptions(args, {
    short: 'tSmog',
    long: ['target-directory', 'suffix', 'mode', 'owner', 'group'],
  });
  const [folder] = valuesOf(options, 't', 'target-directory');
  const sources = folder === undefined ? options.operands.slice(0, -1) : options.operands;
  const target = folder ?? options.operands.at(-1);
  if (target === undefined) return;
  for (const source of sources) {
    const content =
      writtenContent(source, frame) ?? (programFolder.test(source.text) ? `${source.text} "$@"` : undefined);
    if (content === undefined) continue;
    const name = source.text.slice(source.text.lastIndexOf('/') + 1);
    writeFile(target, content, false, frame);
    writeFile(quoted(`${target.text}/${name}`), content, false, frame);
  }
}

/** Runs the values of options that name a command, such as `--checkpoint-action=exec=…`. */
function runValues(
  { args, frame }: Call,
  short: string,
  long: readonly string[],
  letters: readonly string[],
): undefined {
  const options = readOptions(args, { short, long });
  for (const value of valuesOf(options, ...long, ...letters))
    runApart(value.text.replace(/^exec=/, ''), frame);
}

const runByGit =
  /^(?:core\.(?:sshcommand|pager|editor|fsmonitor|askpass|hookspath)|sequence\.editor|diff\.external|credential\.helper|.*\.(?:textconv|cmd|smudge|clean|process))$/i;

/** `git -c name=value` and `git config name value`: some settings are commands. */
function runGit({ args, frame }: Call): undefined {
  const [command, ...rest] = readOptions(args, { short: 'cC', stopsAtOperand: true }).operands;
  const settings = args
    .filter((_, index) => args[index - 1]?.text === '-c')
    .map((setting) => setting.text.split(/=(.*)/s));
  if (command?.text === 'config')
    settings.push(rest.filter((word) => !word.text.startsWith('-')).map((word) => word.text));
  for (const [name = '', value = ''] of settings) {
    if (/^alias\./i.test(name) && value.startsWith('!')) runApart(value.slice(1), frame);
    else if (runByGit.test(name)) runApart(value.replace(/^!/, ''), frame);
  }
  if (command?.text === 'submodule' && rest[0]?.text === 'foreach') {
    runApart(
      rest
        .slice(1)
        .filter((word) => !word.text.startsWith('--'))
        .map((word) => word.text)
        .join(' '),
      frame,
    );
  }
  if (command?.text === 'bisect' && rest[0]?.text === 'run') frame.shell.invoke(rest.slice(1), frame);
}

/** The scripts given to sed: the operand, or the values of `-e`. */
export function sedScripts(args: readonly Field[]): string[] {
  const options = readOptions(args, { short: 'efl', long: ['expression', 'file', 'line-length'] });
  const given = valuesOf(options, 'e', 'expression');
  const own = given.length > 0 || options.flags.has('f') || options.flags.has('file');
  return (own ? given : options.operands.slice(0, 1)).map((script) => script.text);
}

/** The `e` command of sed runs the rest of its line. */
function runSed({ args, frame }: Call): undefined {
  for (const script of sedScripts(args)) {
    for (const [, command] of script.matchAll(/(?:^|[;{}\n\d$/])[ \t]*e[ \t]+([^\n]+)/g))
      runApart(command ?? '', frame);
  }
}

/** `expect -c 'spawn program …'`. */
function runExpect({ args, frame }: Call): undefined {
  for (const { text } of valuesOf(readOptions(args, { short: 'cf' }), 'c')) {
    for (const [, command = ''] of text.matchAll(/\bspawn[ \t]+([^;\n]+)/g)) runApart(command, frame);
  }
}

/** Arguments that hold a whole command line. */
function runQuoted({ args, frame }: Call): undefined {
  for (const argument of args) if (/\s/.test(argument.text)) runApart(argument.text, frame);
}

function runInput({ frame }: Call): string {
  return runApart(frame.stdin, frame);
}

/** The lines of a crontab: five fields of time, then a command. */
function runCrontab({ args, frame }: Call): undefined {
  if (args.some((argument) => /^-[leri]$/.test(argument.text))) return;
  const lines = frame.stdin.split('\n').filter((line) => !/^\s*(?:#|\w+\s*=|$)/.test(line));
  for (const line of lines) runApart(line.replace(/^\s*(?:@\w+|(?:[\d*,/\w-]+\s+){5})/, ''), frame);
}

/** `vim -c ':!command'`. */
function runEditor({ args, frame }: Call): undefined {
  for (const { text } of editorCommands(args)) {
    const command = /^:?[^!\w]*(?:r(?:ead)?\s*|w(?:rite)?\s*)?!(.*)$/s.exec(text)?.[1];
    if (command !== undefined) runApart(command, frame);
  }
}

export function editorCommands(args: readonly Field[]): Field[] {
  const options = readOptions(args, { short: 'cSuUiTw', long: ['cmd'] });
  const plus = args
    .filter((argument) => argument.text.startsWith('+'))
    .map((argument) => quoted(argument.text.slice(1)));
  return [...valuesOf(options, 'c', 'cmd'), ...plus];
}

/** A file that another program is told to run as its script, where the command itself wrote it. */
export function scriptContent(file: Field | undefined, frame: Frame): string | undefined {
  if (file === undefined || file.text === '-') return frame.stdin;
  return writtenContent(file, frame);
}
