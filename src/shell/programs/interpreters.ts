import { attempt } from '../code/attempt.ts';
import { inspectCode } from '../code/inspect.ts';
import type { Field } from '../field.ts';
import { type OptionSpec, readOptions, valuesOf } from '../options.ts';
import { checkOrigin } from '../rules/origin.ts';
import type { Call, Program } from './call.ts';
import { scriptContent } from './files.ts';
import { runApart } from './shells.ts';

interface Interpreter extends OptionSpec {
  /** Options whose value is code. */
  readonly code: readonly string[];
  /** Options after which the input is data: a module is run, or only a version shown. */
  readonly data?: readonly string[];
}

const javascript: Interpreter = {
  short: 'eprCi',
  long: ['eval', 'print', 'require', 'import', 'loader', 'env-file', 'conditions'],
  code: ['e', 'eval', 'p', 'print'],
  data: ['v', 'version', 'test', 'check'],
};

const interpreters: Readonly<Record<string, Interpreter>> = {
  python: { short: 'cmWXQ', code: ['c'], data: ['m', 'V', 'version'] },
  pypy: { short: 'cmWXQ', code: ['c'], data: ['m'] },
  node: javascript,
  nodejs: javascript,
  bun: { ...javascript, data: ['version'] },
  deno: javascript,
  tsx: javascript,
  perl: { short: 'eEIMmFxC', code: ['e', 'E'], data: ['v', 'V'] },
  ruby: { short: 'erIEFxC', code: ['e'], data: ['v', 'version'] },
  php: { short: 'rfBREFdct', code: ['r', 'B', 'R', 'E'], data: ['v', 'i', 'm'] },
  lua: { short: 'el', code: ['e'], data: ['v'] },
  luajit: { short: 'el', code: ['e'] },
  Rscript: { short: 'e', code: ['e'] },
  julia: { short: 'eEp', code: ['e', 'E'] },
  osascript: { short: 'el', code: ['e'] },
};

/** Interpreters of other languages: their inline code is searched for the commands it runs and the files it opens. */
export const interpreterPrograms: Readonly<Record<string, Program>> = {
  ...Object.fromEntries(
    Object.entries(interpreters).map(([name, spec]) => [name, (call) => runInterpreter(call, name, spec)]),
  ),
  ...Object.fromEntries(['awk', 'gawk', 'mawk', 'nawk'].map((name) => [name, runAwk])),
  make: runMake,
  gmake: runMake,
};

function runInterpreter({ args, frame }: Call, language: string, spec: Interpreter): undefined {
  const rest = args[0]?.text === 'eval' ? evaluated(args) : args[0]?.text === 'run' ? args.slice(1) : args;
  const options = readOptions(rest, { ...spec, stopsAtOperand: true });
  const codes = valuesOf(options, ...spec.code);
  const modules = language === 'perl' ? valuesOf(options, 'M').map((module) => `use ${module.text}; `) : [];
  for (const code of codes) inspectCode(modules.join('') + code.text, language, frame);
  if (codes.length > 0 || spec.data?.some((flag) => options.flags.has(flag))) return;
  const content = scriptContent(options.operands[0], frame);
  if (content !== undefined) inspectCode(content, language, frame);
}

function evaluated(args: readonly Field[]): Field[] {
  const [, ...rest] = args;
  const code = rest.find((argument) => !argument.text.startsWith('-'));
  return code === undefined ? [] : [{ text: '-e', pattern: '-e', dynamic: false }, code];
}

/** The program of awk: the first operand, or the file of `-f`. */
export function awkProgram(args: readonly Field[]): { code: Field | undefined; files: readonly Field[] } {
  const options = readOptions(args, {
    short: 'fFveil',
    long: ['file', 'assign', 'field-separator', 'source'],
    stopsAtOperand: true,
  });
  const [file] = valuesOf(options, 'f', 'file');
  const [source] = valuesOf(options, 'e', 'source');
  if (file !== undefined || source !== undefined) return { code: source, files: options.operands };
  return { code: options.operands[0], files: options.operands.slice(1) };
}

function runAwk({ args, frame }: Call): undefined {
  const { code } = awkProgram(args);
  if (code !== undefined) inspectCode(code.text, 'awk', frame);
}

/** A makefile that came from elsewhere is a script that did. */
function runMake({ args, frame }: Call): undefined {
  const options = readOptions(args, {
    short: 'fCIjloW',
    long: ['file', 'makefile', 'directory', 'jobs', 'eval'],
  });
  for (const file of valuesOf(options, 'f', 'file', 'makefile')) {
    const content = scriptContent(file, frame) ?? '';
    checkOrigin(content, frame);
    for (const [, recipe = ''] of content.matchAll(/^(?:\t|[^\s#:=]+:[^\n;=]*;)[ \t@+-]*([^\n]+)/gm)) {
      attempt(() => runApart(recipe.replaceAll('$$', '$'), frame));
    }
  }
}
