import { type Argument, type CommandFrame, unknown } from '../frame.ts';
import { given, readOptions, valuesOf } from '../options.ts';
import { resolvePath } from '../paths.ts';
import { holdsKeyFiles, keyFile } from '../places.ts';
import { readFind } from './find.ts';
import type { ProgramCall, Rule } from './rule.ts';

/** Programs that read their arguments as plain text, or check a file without opening it. */
const readsNothing = new Set(
  (
    'echo printf : true false test [ logger notify-send wall say cowsay figlet expr type which whereis command man info whatis ' +
    'apropos export declare typeset local readonly alias unset set read trap eval exec builtin cd pushd popd dirname basename ' +
    'realpath readlink ls dir exa eza tree stat du mkdir rmdir chmod chown chgrp touch seq sleep kill wait exit return ' +
    'env sudo doas nohup nice timeout watch parallel time setsid stdbuf busybox toybox su tr xargs python perl ruby node php'
  ).split(' '),
);

/** Programs whose first operand is a pattern or a script, unless an option gives it. */
const patternFirst: Readonly<Record<string, string>> = {
  grep: 'ef',
  egrep: 'ef',
  fgrep: 'ef',
  zgrep: 'ef',
  rg: 'ef',
  ag: '',
  ack: '',
  sed: 'ef',
  awk: 'f',
  gawk: 'f',
  mawk: 'f',
  nawk: 'f',
  jq: 'f',
  yq: 'f',
};

const messageOptions =
  /^(?:-m|-am|--message|--title|--body|-S|-G|--grep|--subject|--description|--author|-t|-b)$/;

/** Reading files that contain keys, with any program that takes a path. */
export const keyFiles: Rule = {
  name: 'key-files',
  check: (call) => {
    for (const argument of pathArguments(call)) {
      for (const piece of piecesOf(argument)) {
        const key = keyFileIn(piece, call.frame);
        if (key !== undefined) return `It would read ${key}, which contains secrets.`;
      }
    }
    const copied = copiedFolders(call).some(({ pattern }) =>
      holdsKeyFiles(resolvePath(pattern, call.frame), call.frame.policy),
    );
    return copied ? 'It would copy a folder that contains key files.' : undefined;
  },
};

/** The key file that a path names, or `undefined`. */
export function keyFileIn(pattern: string, frame: CommandFrame): string | undefined {
  const home = frame.policy.home;
  const path = /^~(?=\/|$)/.test(pattern) ? home + pattern.slice(1) : pattern;
  return keyFile(resolvePath(path, frame), frame.policy);
}

/** The arguments that the program may open as files. */
function pathArguments({ name, args }: ProgramCall): readonly Argument[] {
  if (readsNothing.has(name)) return [];
  const given_ = patternFirst[name];
  if (given_ !== undefined) {
    const isText = (index: number) =>
      /^jq|yq$/.test(name) && [1, 2].some((back) => /^--arg(?:json)?$/.test(args[index - back]?.text ?? ''));
    const options = readOptions(
      args.filter((_, index) => !isText(index)),
      {
        short: `${given_}ABCmgtTdDlFv`,
        long: ['regexp', 'file', 'include', 'exclude', 'glob', 'type', 'expression'],
      },
    );
    const hasPattern =
      given(options, given_) || given(options, '', 'regexp') || given(options, '', 'expression');
    return [...options.operands.slice(hasPattern ? 0 : 1), ...valuesOf(options, 'f', 'file')];
  }
  if (/^(?:git|gh|hg|svn|glab)$/.test(name)) {
    return args.filter(
      ({ text }, index) =>
        !messageOptions.test(args[index - 1]?.text ?? '') &&
        !/^(?:-S|-G|--(?:grep|message|title|body)=)/.test(text),
    );
  }
  if (name === 'find') return readFind(args).commands.length > 0 ? readFind(args).starts : [];
  const isScript = /^(?:ba|da|a|z|k)?sh$/.test(name) && args.some(({ text }) => /^-\w*c/.test(text));
  return isScript ? [] : args;
}

/** The paths that an argument may contain: itself, and the text after `=`, `@`, `:`, `,` or an option's letter. */
function piecesOf({ pattern }: Argument): string[] {
  const inside = pattern.split(/[=@:,]/).filter((piece) => piece !== pattern && /^[/~.]/.test(piece));
  const attached = /^-[A-Za-z]([/~.].*)$/s.exec(pattern)?.[1];
  return [pattern, ...inside, ...(attached === undefined ? [] : [attached])].filter(
    (piece) => piece !== '' && piece !== unknown && !piece.startsWith('-'),
  );
}

/** The folders that are archived or copied completely. */
function copiedFolders({ name, args }: ProgramCall): readonly Argument[] {
  if (name === 'cp' || name === 'rsync' || name === 'scp') {
    const options = readOptions(args, { short: name === 'cp' ? 'tS' : 'efMTBiPloF' });
    const recursive = given(options, 'rRa', 'recursive') || given(options, '', 'archive');
    return recursive ? options.operands.slice(0, -1) : [];
  }
  if (name === 'zip') return readOptions(args, { short: 'xibn' }).operands.slice(1);
  if (name !== 'tar') return [];
  const [first, ...rest] = args;
  // The first word may lack its dash: `tar czf x.tgz folder`.
  const words =
    first === undefined || first.text.startsWith('-')
      ? args
      : [{ ...first, text: `-${first.text}`, pattern: `-${first.pattern}` }, ...rest];
  const options = readOptions(words, { short: 'fCTXbHI', long: ['file', 'directory'] });
  return given(options, 'cru', 'create') || given(options, '', 'append') ? options.operands : [];
}
