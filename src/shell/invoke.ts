import { type Field, quoted } from './field.ts';
import { type Frame, refuse, unknown } from './frame.ts';
import { isGlob } from './glob.ts';
import { outputOf } from './output.ts';
import { resolvePath } from './paths.ts';
import { isAt, readPlace } from './place.ts';
import type { Call } from './programs/call.ts';
import { programs } from './programs/index.ts';
import { runFile } from './programs/shells.ts';
import { rules } from './rules/index.ts';
import { checkOrigin } from './rules/origin.ts';
import { checkListed } from './rules/strict.ts';
import { hasUnknown } from './unknowns.ts';
import { writtenContent } from './written-files.ts';

/**
 * Looks at a simple command. A name may be an alias, a function or a program: whether an alias works depends on
 * the shell, and whether a function is defined on what ran before, so a known program is looked at as well.
 */
export function runSimple(argv: readonly Field[], frame: Frame): string {
  const [program, ...args] = argv;
  if (program === undefined) return '';
  const alias = frame.scope.alias(program.text);
  if (alias !== undefined) runAlias(program.text, alias, args, frame);
  if (frame.scope.function(program.text) === undefined) return invoke(argv, frame);
  const output = callFunction(program.text, args, frame);
  if (isKnown(program.text)) invoke(argv, frame);
  return output;
}

/** Looks at one program with its arguments: first the rules, then what the program itself would run. */
export function invoke(argv: readonly Field[], frame: Frame): string {
  const [program, ...args] = argv;
  if (program === undefined || program.text === '') return '';
  frame.inspection.budget.spend(argv.length, frame.at);
  checkOrigin(baseName(program), frame);
  checkListed(program, frame);
  return namesOf(program, frame)
    .map((name) => runProgram({ name, program, args, frame }))
    .join('');
}

function runProgram(call: Call): string {
  for (const rule of rules) {
    const reason = rule.check(call);
    if (reason !== undefined) refuse(call.frame, rule.name, reason);
  }
  const content = programContent(call);
  if (content !== undefined) return runFile(content, call.program, call.args, call.frame);
  return programs.get(call.name)?.(call) ?? outputOf(call.name, call.frame);
}

/** What the command itself wrote into the program's file; a bare name is looked up in the usual folders. */
function programContent({ program, frame }: Call): string | undefined {
  if (frame.inspection.files.size === 0) return undefined;
  if (program.text.includes('/') || hasUnknown(program.text)) return writtenContent(program, frame);
  const files = programFolders.map((place) => writtenContent(quoted(`${place}/${program.text}`), frame));
  return files.find((content) => content !== undefined);
}

function isKnown(name: string): boolean {
  return programs.has(withoutVersion(name)) || rules.some((rule) => rule.programs.includes(name));
}

const programFolders = ['/bin', '/usr/bin', '/sbin', '/usr/sbin', '/usr/local/bin'];

/** The names a program may have: the last part of its path, or every known name that a glob can stand for. */
function namesOf(program: Field, frame: Frame): string[] {
  const name = baseName(program);
  if (hasUnknown(name)) return [''];
  if (!isGlob(program.pattern)) return [withoutVersion(name)];
  const path = resolvePath(program, frame);
  const known = [...programs.keys(), ...rules.flatMap((rule) => rule.programs)];
  const met = [...new Set(known)].filter((name) =>
    programFolders.some((place) => isAt(path, readPlace(`${place}/${name}`))),
  );
  return met.length === 0 ? [program.text] : met;
}

function baseName(program: Field): string {
  return program.text.slice(program.text.lastIndexOf('/') + 1);
}

/** `python3.12` is python. */
function withoutVersion(name: string): string {
  const short = name.replace(/\d[\d.]*$/, '');
  return programs.has(name) || !programs.has(short) ? name : short;
}

function runAlias(name: string, text: string, args: readonly Field[], frame: Frame): void {
  const scope = frame.scope.fork();
  // A name inside its own alias means the program.
  scope.setAlias(name, '');
  scope.arguments = args.map((argument) => argument.text);
  frame.shell.runText(`${text} "$@"`, { ...frame, scope });
}

const deepestCall = 3;

function callFunction(name: string, args: readonly Field[], frame: Frame): string {
  const defined = frame.scope.function(name);
  const running = frame.scope.values('.calls').flat();
  if (defined === undefined || running.filter((other) => other === name).length >= deepestCall) {
    return unknown(frame, 'unknown');
  }
  const { arguments: before } = frame.scope;
  const callsBefore = frame.scope.values('.calls');
  frame.scope.set('.calls', [...running, name]);
  frame.scope.arguments = args.map((argument) => argument.text);
  const output = frame.shell.runBody(defined.body, { ...frame, source: defined.source });
  frame.scope.arguments = before;
  frame.scope.set('.calls', ...callsBefore);
  return output;
}
