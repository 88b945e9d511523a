import { type Field, quoted, unprotect } from '../field.ts';
import { type Frame, folder, refuse } from '../frame.ts';
import { given, readOptions, valuesOf } from '../options.ts';
import { joinFolder, type Path, resolvePath } from '../paths.ts';
import { holdsKeyFiles, isDisguisedAccountFile, keyFile } from '../places.ts';
import type { Call } from '../programs/call.ts';
import { editorCommands, sedScripts } from '../programs/files.ts';
import { readFind } from '../programs/finders.ts';
import { awkProgram } from '../programs/interpreters.ts';
import { readShellOptions } from '../programs/shells.ts';
import type { Rule } from './rule.ts';

/** Programs whose arguments are only text to them, or that look at a file without opening it. */
const harmless = new Set(
  (
    'echo printf : true false test [ logger notify-send wall say cowsay figlet expr type which whereis command man info whatis ' +
    'apropos export declare typeset local readonly alias unset set read trap eval exec builtin cd pushd popd dirname basename ' +
    'realpath readlink ls dir exa eza tree stat du mkdir rmdir chmod chown chgrp touch seq sleep kill wait exit return ' +
    'env sudo doas nohup nice timeout watch parallel time setsid stdbuf busybox toybox su tr'
  ).split(' '),
);

/** Options whose value is a message or a pattern for any of the version control programs. */
const messageOptions =
  /^(?:-m|-am|--message|--title|--body|-S|-G|--grep|--subject|--description|--author|-t|-b)$/;

/** Reading files that hold keys, by any program that takes a path. */
export const keyFiles: Rule = {
  name: 'key-files',
  programs:
    'cat tac head tail less more strings base64 xxd od hexdump nl grep sed awk cut sort cp mv tar zip dd curl vi'.split(
      ' ',
    ),
  check: (call) => {
    for (const argument of pathArguments(call)) {
      for (const path of pathsIn(argument, call.frame)) {
        const key = keyFile(path, call.frame.inspection.policy);
        if (key !== undefined) return `It would read ${key}, which holds secrets.`;
        if (isDisguisedAccountFile(path)) return 'It would read a list of accounts under a disguised name.';
      }
    }
    return copiesFolder(call) ? 'It would copy a folder with key files in it.' : undefined;
  },
};

/** A program is also told of files by its environment: `KUBECONFIG=path program`. */
export function checkGivenPaths(values: readonly string[], frame: Frame): void {
  for (const value of values) {
    const key = /^[/~.]/.test(value)
      ? keyFile(resolvePath(quoted(value), frame), frame.inspection.policy)
      : undefined;
    if (key !== undefined) refuse(frame, 'key-files', `It would read ${key}, which holds secrets.`);
  }
}

/** Writing these gives access or breaks accounts; other key files may be created. */
export function overwritesKeyFile(path: Path, frame: Frame): boolean {
  const key = keyFile(path, frame.inspection.policy);
  if (key === undefined) return false;
  return key.startsWith('/etc/') || key.includes('geode') || path.parts.at(-1) === 'authorized_keys';
}

/** The arguments that the program may open as files. */
function pathArguments({ name, args, frame }: Call): readonly Field[] {
  if (harmless.has(name)) return [];
  switch (name) {
    case 'grep':
    case 'egrep':
    case 'fgrep':
    case 'zgrep':
    case 'rg':
    case 'ag':
    case 'ack': {
      const options = readOptions(args, {
        short: 'efABCmgtTdD',
        long: ['regexp', 'file', 'include', 'exclude', 'glob', 'type'],
      });
      const own = given(options, 'ef', 'regexp') || given(options, '', 'file');
      return [...options.operands.slice(own ? 0 : 1), ...valuesOf(options, 'f', 'file')];
    }
    case 'sed': {
      const options = readOptions(args, { short: 'efl', long: ['expression', 'file', 'line-length'] });
      const own = options.values.size > 0;
      return [
        ...options.operands.slice(own ? 0 : 1),
        ...valuesOf(options, 'f', 'file'),
        ...sedScripts(args).flatMap(sedFiles),
      ];
    }
    case 'awk':
    case 'gawk':
    case 'mawk':
    case 'nawk':
      return [
        ...awkProgram(args).files,
        ...args.filter((_, index) => /^-[fv]$/.test(args[index - 1]?.text ?? '')),
      ];
    case 'jq':
    case 'yq':
      return readOptions(
        args.filter((_, index) => !isJqText(args, index)),
        { short: 'f' },
      ).operands.slice(1);
    case 'xargs':
      return valuesOf(
        readOptions(args, { short: 'adEILnPs', long: ['arg-file'], stopsAtOperand: true }),
        'a',
        'arg-file',
      );
    case 'sh':
    case 'bash':
    case 'dash':
    case 'ash':
    case 'zsh':
    case 'ksh': {
      const options = readShellOptions(args);
      return options.flags.has('c') ? [] : options.operands;
    }
    case 'find':
      return readFind(args).commands.length > 0 ? readFind(args).starts : [];
    case 'vi':
    case 'vim':
    case 'nvim':
    case 'ex':
    case 'view':
      return [...args, ...editorCommands(args).flatMap((command) => command.text.split(/\s+/).map(quoted))];
    case 'tar':
      return [...args, ...tarMembers(args, frame)];
    case 'git':
    case 'gh':
    case 'hg':
    case 'svn':
    case 'glab':
      return args.filter(
        (argument, index) =>
          !messageOptions.test(args[index - 1]?.text ?? '') &&
          !/^(?:-S|-G|--(?:grep|message|title|body)=)/.test(argument.text),
      );
    default:
      return args;
  }
}

/** `--arg name text`: two words that are no files. */
function isJqText(args: readonly Field[], index: number): boolean {
  return [1, 2].some((back) => /^--arg(?:json)?$/.test(args[index - back]?.text ?? ''));
}

/** The files that sed's `r`, `R`, `w` and `W` name. */
function sedFiles(script: string): Field[] {
  return [...script.matchAll(/(?:^|[;{}\n\d$/])[ \t]*[rRwW][ \t]+([^\n;}]+)/g)].map((match) =>
    quoted((match[1] ?? '').trim()),
  );
}

/** Members named relative to the folder of `-C`. */
function tarMembers(args: readonly Field[], frame: Frame): Field[] {
  const options = readOptions(args, { short: 'fCTXbHI', long: ['file', 'directory', 'files-from'] });
  const [start] = valuesOf(options, 'C', 'directory');
  if (start === undefined) return [];
  const base = joinFolder(folder(frame), start);
  return options.operands.map((operand) => joinFolder(base, operand));
}

/** The paths that an argument may hold: itself, and what follows `=`, `@`, `:`, `,` or an option's letter. */
function* pathsIn(argument: Field, frame: Frame): Generator<Path> {
  const pieces = [argument.pattern];
  if (/[=@:,]/.test(argument.pattern))
    pieces.push(...argument.pattern.split(/[=@:,]/).filter((piece) => /^[/~.]/.test(piece)));
  const attached = /^-[A-Za-z]([/~.].*)$/s.exec(argument.pattern)?.[1];
  if (attached !== undefined) pieces.push(attached);
  for (const piece of pieces) {
    if (piece === '' || piece.startsWith('-')) continue;
    const home = frame.inspection.policy.home;
    const pattern = /^~(?=\/|$)/.test(piece) && piece !== argument.pattern ? home + piece.slice(1) : piece;
    yield resolvePath({ text: unprotect(pattern), pattern, dynamic: false }, frame);
  }
}

/** Archiving or copying all of a home folder takes the keys along. */
function copiesFolder({ name, args, frame }: Call): boolean {
  const sources = copiedSources(name, args);
  return sources.some((source) => holdsKeyFiles(resolvePath(source, frame), frame.inspection.policy));
}

function copiedSources(name: string, args: readonly Field[]): readonly Field[] {
  if (name === 'cp' || name === 'rsync' || name === 'scp') {
    const options = readOptions(args, { short: name === 'cp' ? 'tS' : 'efMTBiPloF' });
    const recursive = given(options, 'rRa', 'recursive') || given(options, '', 'archive');
    return recursive ? options.operands.slice(0, -1) : [];
  }
  if (name === 'zip') return readOptions(args, { short: 'xibn' }).operands.slice(1);
  if (name !== 'tar') return [];
  const [first, ...rest] = args;
  // The first word may lack its dash: `tar czf x.tgz folder`.
  const letters = first?.text.startsWith('-') ? args : [{ ...quoted(`-${first?.text ?? ''}`) }, ...rest];
  const options = readOptions(letters, { short: 'fCTXbHI', long: ['file', 'directory'] });
  return given(options, 'c', 'create') || given(options, 'ru', 'append') ? options.operands : [];
}
