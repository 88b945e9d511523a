import {
  type Argument,
  type CommandFrame,
  checkSource,
  literal,
  nested,
  refuse,
  type Stream,
  unknown,
} from './frame.ts';
import { invoke } from './invoke.ts';
import { type OptionSpec, readOptions, valuesOf } from './options.ts';
import { inputWords, scriptsOf } from './output.ts';
import { resolvePath } from './paths.ts';
import { readFind } from './rules/find.ts';
import type { ProgramCall } from './rules/rule.ts';
import { checkVariable } from './rules/variables.ts';
import { excerpt } from './verdict.ts';
import { runArgument, runText } from './walk.ts';

/** Programs that run other commands. Returns their output; undefined for all other programs. */
type Runner = (call: ProgramCall) => Stream | undefined;

/** Programs whose operands are a command, after their options and some operands of their own. */
const wrappers: Readonly<Record<string, OptionSpec & { readonly operands?: number }>> = {
  nohup: {},
  nice: { short: 'n', long: ['adjustment'] },
  ionice: { short: 'cnpPu', long: ['class', 'classdata'] },
  timeout: { short: 'ks', long: ['kill-after', 'signal'], operands: 1 },
  stdbuf: { short: 'ioe', long: ['input', 'output', 'error'] },
  setsid: {},
  time: { short: 'fo', long: ['format', 'output'] },
  busybox: {},
  toybox: {},
  chroot: { long: ['userspec', 'groups'], operands: 1 },
  unshare: { short: 'RwSG', long: ['root', 'wd', 'setuid', 'setgid'] },
  nsenter: { short: 'tSGW', long: ['target', 'setuid', 'setgid'] },
  setarch: { operands: 1 },
  setpriv: { long: ['reuid', 'regid', 'groups', 'inh-caps', 'bounding-set'] },
  strace: { short: 'abeIoOpPsSuEX' },
  taskset: { operands: 1 },
  chrt: { operands: 1 },
  prlimit: { short: 'po' },
  unbuffer: {},
  fakeroot: { short: 'lsib' },
  'xvfb-run': { short: 'nefspw' },
  'systemd-run': { short: 'pEtMHu', long: ['property', 'unit', 'setenv', 'uid', 'gid', 'working-directory'] },
  gosu: { operands: 1 },
  'su-exec': { operands: 1 },
  tini: { short: 'pe' },
  npx: { short: 'pc', long: ['package', 'call'] },
  command: {},
  builtin: {},
  exec: { short: 'a' },
  coproc: {},
  sudo: { short: 'ugpCDRTrthU', long: ['user', 'group', 'chdir', 'host', 'prompt'] },
  doas: { short: 'uC' },
  env: { short: 'uCS', long: ['unset', 'chdir', 'split-string'] },
};

const shells = ['sh', 'bash', 'dash', 'ash', 'rbash', 'zsh', 'ksh', 'mksh', 'fish'];
const interpreters = ['python', 'perl', 'ruby', 'node', 'nodejs', 'php', 'lua', 'deno', 'bun'];

export const runners: ReadonlyMap<string, Runner> = new Map<string, Runner>([
  ...Object.entries(wrappers).map(([name, spec]) => [name, runnerOf(spec)] as const),
  ...shells.map((name) => [name, runShell] as const),
  ...interpreters.map((name) => [name, runInterpreter] as const),
  ['eval', runEval],
  ['.', runSource],
  ['source', runSource],
  ['trap', ({ args, frame }) => runWords(args.slice(0, 1), frame)],
  ['cd', changeFolder],
  ['pushd', changeFolder],
  ['find', runFind],
  ['xargs', runXargs],
  ['parallel', runJoined],
  ['watch', runJoined],
  ['flock', runLocked],
  ['su', runOption],
  ['runuser', runOption],
  ['script', runOption],
]);

/** The last folder of a group applies to the commands after it. */
function changeFolder({ args, frame }: ProgramCall): Stream {
  const target = readOptions(args, {}).operands[0]?.pattern ?? frame.policy.home;
  const path = resolvePath(target, frame);
  const isKnown = path.rooted && !path.parts.some((part) => part.includes(unknown));
  frame.place.folder = isKnown ? `/${path.parts.join('/')}` : undefined;
  return {};
}

function runnerOf(spec: OptionSpec & { readonly operands?: number }): Runner {
  return ({ name, args, frame }) => {
    const options = readOptions(args, { ...spec, stopsAtOperand: true });
    const inner = nested(frame);
    for (const folder of valuesOf(options, 'C', 'chdir'))
      changeFolder({ name, args: [folder], frame: inner });
    for (const text of valuesOf(options, 'S', 'split-string')) invoke(inputWords(text.text), inner);
    if (name === 'npx') for (const script of valuesOf(options, 'c', 'call')) runArgument(script, inner);
    let words = options.operands.slice(spec.operands ?? 0);
    while (/^[\w-]+=/.test(words[0]?.text ?? '') && /^(?:env|sudo|doas)$/.test(name)) {
      const [, variable = '', value = ''] = /^([^=]*)=(.*)$/s.exec(words[0]?.text ?? '') ?? [];
      checkVariable(variable, literal(value), inner);
      words = words.slice(1);
    }
    if (words.length > 0) return invoke(words, inner);
    // `sudo -s`, `su` and `exec` without a command start a shell or nothing.
    return /^(?:sudo|doas)$/.test(name) ? runInput(inner) : {};
  };
}

function runShell({ args, frame }: ProgramCall): Stream | undefined {
  let letters = '';
  let at = 0;
  for (; /^[-+]./.test(args[at]?.text ?? ''); at++) {
    const text = args[at]?.text ?? '';
    if (text.startsWith('--')) continue;
    letters += text;
    // `-o` takes the next word.
    at += text.replace(/[^oO]/g, '').length;
  }
  const operands = args.slice(at);
  const [first] = operands;
  if (letters.includes('c')) return first === undefined ? {} : runWords([first], frame);
  if (letters.includes('n')) return {};
  if (first === undefined || first.text === '-' || letters.includes('s')) return runInput(frame);
  checkSource(first.source, frame);
  if (first.text === '/dev/stdin') return runInput(frame);
  if (frame.policy.mode === 'strict') {
    refuse(frame, 'dynamic', `The script ${excerpt(first.text)} is not part of the command.`);
  }
  return {};
}

/** A shell that reads its commands from standard input. */
function runInput(frame: CommandFrame): Stream {
  const { source, text } = frame.input;
  checkSource(source, frame);
  if (text !== undefined) return { ...runText(text, { ...frame, input: {} }), text: undefined };
  if (frame.policy.mode === 'strict') refuse(frame, 'dynamic', 'The script is not part of the command.');
  return { source: 'shell' };
}

/** Interpreters of other languages: the policy checks where the code comes from, not the code. */
function runInterpreter({ args, frame }: ProgramCall): Stream | undefined {
  for (const { source } of args) checkSource(source, frame);
  const [first] = args;
  if (first === undefined || first.text === '-') checkSource(frame.input.source, frame);
  return undefined;
}

function runEval({ args, frame }: ProgramCall): Stream {
  return runWords(args, frame);
}

function runWords(words: readonly Argument[], frame: CommandFrame): Stream {
  for (const { source } of words) checkSource(source, frame);
  const text = words.map((word) => word.text).join(' ');
  return runArgument(
    { text, dynamic: words.some(({ dynamic }) => dynamic) },
    { ...frame, input: frame.input },
  );
}

function runSource({ args: [file], frame }: ProgramCall): Stream {
  checkSource(file?.source, frame);
  if (file?.text === '/dev/stdin') return runInput(frame);
  if (frame.policy.mode === 'strict') refuse(frame, 'dynamic', 'The script is not part of the command.');
  return {};
}

/** `{}` means the folders where the search starts, unless the search is selective. */
function runFind({ args, frame }: ProgramCall): undefined {
  const search = readFind(args);
  const found = search.selective ? [literal(`${unknown}file`)] : search.starts;
  for (const command of search.commands) {
    for (const file of found) {
      invoke(
        command.map((word) => (word.text === '{}' ? file : word)),
        nested(frame, { input: {} }),
      );
    }
  }
}

function runXargs({ args, frame }: ProgramCall): Stream {
  const options = readOptions(args, {
    short: 'adEILnPs',
    long: ['arg-file', 'delimiter', 'max-args', 'max-procs', 'max-chars', 'replace', 'max-lines'],
    stopsAtOperand: true,
  });
  const command = options.operands.length > 0 ? options.operands : [literal('echo')];
  const { text, source } = frame.input;
  const items = text === undefined ? [{ ...literal(unknown), dynamic: true, source }] : inputWords(text);
  const placeholder =
    valuesOf(options, 'I', 'replace')[0]?.text ?? (options.flags.has('i') ? '{}' : undefined);
  const inner = nested(frame, { input: {} });
  if (placeholder === undefined) return invoke([...command, ...items], inner);
  for (const item of items) {
    invoke(
      command.map((word) =>
        word.text.includes(placeholder)
          ? {
              ...literal(word.text.replaceAll(placeholder, item.text)),
              dynamic: item.dynamic,
              source: item.source,
            }
          : word,
      ),
      inner,
    );
  }
  return {};
}

/** `watch command`, `parallel 'command {}' ::: a b`: the words form one script. */
function runJoined({ args, frame }: ProgramCall): Stream {
  const { operands } = readOptions(args, { short: 'njPaSNIL', stopsAtOperand: true });
  const end = operands.findIndex(({ text }) => text.startsWith(':::'));
  const items = end < 0 ? [] : operands.slice(end + 1);
  const command = end < 0 ? operands : operands.slice(0, end);
  if (items.length === 0) return runWords(command, nested(frame));
  const script = command.map(({ text }) => text).join(' ');
  for (const { text } of items) {
    runText(script.includes('{}') ? script.replaceAll('{}', text) : `${script} ${text}`, nested(frame));
  }
  return {};
}

/** `flock file command`, `flock file -c script`. */
function runLocked({ args, frame }: ProgramCall): Stream {
  const spec = { short: 'wE', long: ['timeout', 'wait'], stopsAtOperand: true };
  const [, first, ...rest] = readOptions(args, spec).operands;
  if (first === undefined) return {};
  return /^(?:-c|--command)$/.test(first.text)
    ? runWords(rest.slice(0, 1), frame)
    : invoke([first, ...rest], frame);
}

/** `su user -c script`, `runuser -u user -- command`. */
function runOption({ name, args, frame }: ProgramCall): Stream {
  const scripts = scriptsOf(args, 'cgGsuwBIOTmEo', 'command', 'session-command');
  if (scripts.length > 0) return runWords(scripts.slice(0, 1), nested(frame));
  const options = readOptions(args, { short: 'gGsuw', stopsAtOperand: true });
  if (name === 'runuser' && options.flags.has('u')) return invoke(options.operands, nested(frame));
  return name === 'script' ? {} : runInput(nested(frame));
}
