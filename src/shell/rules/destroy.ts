import type { Argument, CommandFrame } from '../frame.ts';
import { given, type Options, readOptions, valuesOf } from '../options.ts';
import { resolvePath } from '../paths.ts';
import { accountFile, criticalPlace } from '../places.ts';
import { operandValues } from './device.ts';
import { readFind } from './find.ts';
import type { ProgramCall, Rule } from './rule.ts';

type Check = (call: ProgramCall) => string | undefined;

const checks: Readonly<Record<string, Check>> = {
  rm: checkRemove,
  srm: checkRemove,
  wipe: checkRemove,
  rimraf: checkRemove,
  unlink: checkRemove,
  rmdir: checkRemove,
  trash: checkRemove,
  shred: checkRemove,
  find: checkFind,
  chmod: (call) => checkAccess(call, true),
  chown: (call) => checkAccess(call, false),
  chgrp: (call) => checkAccess(call, false),
  setfacl: (call) => checkAccess(call, false),
  chattr: (call) => checkAccess(call, false),
  mv: checkMove,
  cp: checkTarget,
  ln: checkTarget,
  install: checkTarget,
  tee: (call) => written(readOptions(call.args, {}).operands, call),
  truncate: (call) =>
    written(readOptions(call.args, { short: 'sro', long: ['size', 'reference'] }).operands, call),
  sponge: (call) => written(readOptions(call.args, {}).operands, call),
  dd: (call) => written(operandValues(call.args, 'of'), call),
  rsync: checkSync,
  git: checkClean,
};

/** Removing, locking or overwriting the root folder, a home folder or system files. */
export const destroy: Rule = {
  name: 'destroy',
  check: (call) => (call.name === '' ? checkUnknownProgram(call) : checks[call.name]?.(call)),
};

function critical(target: Argument, frame: CommandFrame): string | undefined {
  return criticalPlace(resolvePath(target.pattern, frame), frame.policy);
}

function firstCritical(targets: readonly Argument[], frame: CommandFrame, deed: string): string | undefined {
  for (const target of targets) {
    const place = critical(target, frame);
    if (place !== undefined) return `It would ${deed} ${place}.`;
    const file = accountFile(resolvePath(target.pattern, frame));
    if (file !== undefined) return `It would ${deed} ${file}.`;
  }
  return undefined;
}

function checkRemove({ name, args, frame }: ProgramCall): string | undefined {
  const options = readOptions(args, name === 'shred' ? { short: 'ns' } : {});
  if (given(options, '', 'no-preserve-root')) return 'It asks to remove the root folder.';
  if (options.flags.has('help') || options.flags.has('version')) return undefined;
  return firstCritical(options.operands, frame, 'remove');
}

/** A program whose name is not written out may still have the arguments of `rm -r`. */
function checkUnknownProgram({ args, frame }: ProgramCall): string | undefined {
  const options = readOptions(args, {});
  return given(options, 'rR', 'recursive')
    ? firstCritical(options.operands, frame, 'change all of')
    : undefined;
}

function checkFind({ args, frame }: ProgramCall): string | undefined {
  const search = readFind(args);
  return search.deletes && !search.selective ? firstCritical(search.starts, frame, 'remove') : undefined;
}

/** `chmod -R`, `chown -R`: the first operand is the mode or owner. Taking ownership of one's home folder is allowed. */
function checkAccess({ args, frame }: ProgramCall, homeCounts: boolean): string | undefined {
  const options = readOptions(
    args.filter((argument) => !/^-[rwxXst]+$/.test(argument.text)),
    { short: 'm', long: ['reference', 'from'] },
  );
  const targets = options.operands.slice(options.flags.has('reference') ? 0 : 1);
  if (!given(options, 'R', 'recursive')) {
    return targets.some((target) => critical(target, frame) === 'the root folder')
      ? 'It would change access to the root folder.'
      : undefined;
  }
  for (const target of targets) {
    const place = critical(target, frame);
    if (place !== undefined && (homeCounts || place !== 'a home folder'))
      return `It would change access to all of ${place}.`;
  }
  return undefined;
}

function copyOptions(args: readonly Argument[]): Options {
  return readOptions(args, {
    short: 'tSmog',
    long: ['target-directory', 'suffix', 'mode', 'owner', 'group'],
  });
}

function checkMove(call: ProgramCall): string | undefined {
  const options = copyOptions(call.args);
  const sources = given(options, 't', 'target-directory') ? options.operands : options.operands.slice(0, -1);
  return firstCritical(sources, call.frame, 'move away') ?? checkTarget(call);
}

function checkTarget(call: ProgramCall): string | undefined {
  const target = copyOptions(call.args).operands.at(-1);
  return target && written([target], call);
}

function written(targets: readonly Argument[], { frame }: ProgramCall): string | undefined {
  for (const target of targets) {
    const file = accountFile(resolvePath(target.pattern, frame));
    if (file !== undefined) return `It would overwrite ${file}.`;
  }
  return undefined;
}

function checkSync({ args, frame }: ProgramCall): string | undefined {
  const options = readOptions(args, {
    short: 'efMTB',
    long: ['rsh', 'exclude', 'include', 'filter', 'files-from'],
  });
  const deletes = [...options.flags].some((flag) => /^del(?:ete)?/.test(flag));
  const target = options.operands.at(-1);
  return deletes && target !== undefined && options.operands.length > 1
    ? firstCritical([target], frame, 'remove what is in')
    : undefined;
}

/** `git clean -f` in a folder that is not a project. */
function checkClean({ args, frame }: ProgramCall): string | undefined {
  const options = readOptions(args, { short: 'cC', stopsAtOperand: true });
  const [command, ...rest] = options.operands;
  if (command?.text !== 'clean' || !given(readOptions(rest, { short: 'e' }), 'f', 'force')) return undefined;
  const folder = valuesOf(options, 'C')[0] ?? { text: '.', pattern: '.', dynamic: false };
  return firstCritical([folder], frame, 'remove files from');
}
