import { type Field, quoted } from '../field.ts';
import { folder, setFolder } from '../frame.ts';
import { type OptionSpec, readOptions, valuesOf } from '../options.ts';
import { joinFolder } from '../paths.ts';
import { setVariable } from '../variables.ts';
import type { Call, Program } from './call.ts';
import { inputWords } from './finders.ts';
import { runApart } from './shells.ts';

/** How to find the inner command of a program that runs another one with its own arguments. */
interface Wrapper extends OptionSpec {
  /** Operands of the wrapper itself, before the inner command. */
  readonly operands?: number;
}

const wrapperSpecs: Readonly<Record<string, Wrapper>> = {
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
  linux64: {},
  setpriv: { long: ['reuid', 'regid', 'groups', 'inh-caps', 'bounding-set'] },
  capsh: {},
  strace: { short: 'abeIoOpPsSuEX' },
  ltrace: { short: 'aAeFlnopsuwX' },
  taskset: { operands: 1 },
  chrt: { operands: 1, short: 'TPD' },
  prlimit: { short: 'po' },
  numactl: { short: 'iCNmp' },
  unbuffer: {},
  chronic: {},
  ifne: {},
  fakeroot: { short: 'lsib' },
  catchsegv: {},
  'xvfb-run': { short: 'nefspw' },
  'dbus-run-session': {},
  'systemd-run': { short: 'pEtMHu', long: ['property', 'unit', 'setenv', 'uid', 'gid', 'working-directory'] },
  'systemd-inhibit': { long: ['what', 'who', 'why', 'mode'] },
  gosu: { operands: 1 },
  'su-exec': { operands: 1 },
  tini: { short: 'pe' },
  'dumb-init': {},
  catatonit: {},
  npx: { short: 'pc', long: ['package', 'call'] },
  entr: {},
  noglob: {},
  nocorrect: {},
  'ld-linux-x86-64.so.2': { long: ['library-path', 'preload', 'argv0'] },
  'ld-linux-aarch64.so.1': { long: ['library-path', 'preload', 'argv0'] },
  'ld-musl-x86_64.so.1': { long: ['library-path', 'preload', 'argv0'] },
};

/** Programs that run another command: it is looked at as if it stood there alone. */
export const wrappers: Readonly<Record<string, Program>> = {
  ...Object.fromEntries(
    Object.entries(wrapperSpecs).map(([name, spec]) => [name, (call) => runInner(call, spec)]),
  ),
  env: runEnv,
  sudo: (call) => runElevated(call, 'ugpCDRTrthU'),
  doas: (call) => runElevated(call, 'uC'),
  su: runAsUser,
  runuser: runAsUser,
  flock: runLocked,
  script: (call) =>
    runCommandOption(call, { short: 'cBIOTmEo', long: ['command', 'log-out', 'log-in', 'log-io'] }),
  watch: (call) => runJoined(call, { short: 'nq', long: ['interval', 'equexit'], stopsAtOperand: true }),
};

function runInner({ args, frame }: Call, spec: Wrapper): string {
  const options = readOptions(args, { ...spec, stopsAtOperand: true });
  for (const text of valuesOf(options, 'c', 'call')) {
    if (spec.long?.includes('call')) runApart(text.text, frame);
  }
  return frame.shell.invoke(options.operands.slice(spec.operands ?? 0), frame);
}

/** `env -i NAME=value program …`, `env -C folder`, `env -S 'program words'`. */
function runEnv({ args, frame }: Call): string {
  const options = readOptions(args, {
    short: 'uCS',
    long: ['unset', 'chdir', 'split-string'],
    stopsAtOperand: true,
  });
  // A lone `-` means `-i`.
  const operands = options.operands.slice(options.operands[0]?.text === '-' ? 1 : 0);
  const scope = frame.scope.fork();
  const inner = { ...frame, scope };
  for (const target of valuesOf(options, 'C', 'chdir')) {
    setFolder(scope, joinFolder(folder(frame), target));
  }
  const start = setAssignments(operands, inner);
  const split = valuesOf(options, 'S', 'split-string').flatMap((value) => inputWords(value.text));
  const words = [...split.slice(setAssignments(split.map(quoted), inner)).map(quoted), ...operands];
  const command = words.slice(split.length > 0 ? 0 : start);
  return command.length === 0 ? '' : frame.shell.invoke(command, inner);
}

/** Sets the leading `NAME=value` operands; returns how many there were. */
function setAssignments(operands: readonly Field[], frame: Call['frame']): number {
  let count = 0;
  for (const operand of operands) {
    const [, name, value = ''] = /^([^=]*)=(.*)$/s.exec(operand.text) ?? [];
    if (name === undefined) break;
    setVariable(name, [value], frame);
    count++;
  }
  return count;
}

function runElevated({ args, frame }: Call, short: string): string {
  const { operands } = readOptions(args, { short, stopsAtOperand: true });
  const scope = frame.scope.fork();
  const inner = { ...frame, scope };
  const command = operands.slice(setAssignments(operands, inner));
  // `sudo -s` and `sudo -i` start a shell.
  return frame.shell.invoke(command.length > 0 ? command : [quoted('sh')], inner);
}

/** `su user -c 'script'`, `runuser -u user -- program`. */
function runAsUser({ name, args, frame }: Call): string {
  const options = readOptions(args, {
    short: 'cgGsuw',
    long: ['command', 'group', 'shell', 'user', 'session-command'],
  });
  for (const script of valuesOf(options, 'c', 'command', 'session-command')) runApart(script.text, frame);
  if (name === 'runuser' && options.flags.has('u')) return frame.shell.invoke(options.operands, frame);
  return options.flags.has('c') || options.flags.has('command')
    ? ''
    : frame.shell.invoke([quoted('sh')], frame);
}

/** `flock file program …`, `flock file -c 'script'`. */
function runLocked({ args, frame }: Call): string {
  const [, ...rest] = readOptions(args, {
    short: 'wE',
    long: ['timeout', 'wait'],
    stopsAtOperand: true,
  }).operands;
  const isScript = rest[0]?.text === '-c' || rest[0]?.text === '--command';
  return isScript ? runApart(rest[1]?.text ?? '', frame) : frame.shell.invoke(rest, frame);
}

function runCommandOption({ args, frame }: Call, spec: OptionSpec): string {
  const scripts = valuesOf(readOptions(args, spec), 'c', 'command');
  return scripts.map((script) => runApart(script.text, frame)).join('');
}

/** The words of the command joined by spaces and given to a shell. */
function runJoined({ args, frame }: Call, spec: OptionSpec): string {
  const { flags, operands } = readOptions(args, spec);
  if (flags.has('x') || flags.has('exec')) return frame.shell.invoke(operands, frame);
  return runApart(operands.map((operand) => operand.text).join(' '), frame);
}
