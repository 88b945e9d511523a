import { type Argument, type CommandFrame, checkSource, refuse, type Stream, unknown } from './frame.ts';
import { isGlob, matchesGlob } from './glob.ts';
import { outputStreamOf } from './output.ts';
import { destroy } from './rules/destroy.ts';
import { device } from './rules/device.ts';
import { keyFiles } from './rules/key-files.ts';
import { reverseShell } from './rules/reverse-shell.ts';
import { checkListed } from './rules/strict.ts';
import { runners } from './runners.ts';

const rules = [reverseShell, device, destroy, keyFiles];

/** Checks one program with its arguments: by the rules, then by the commands that the program itself runs. */
export function invoke(words: readonly Argument[], frame: CommandFrame): Stream {
  const [program, ...args] = words;
  if (program === undefined || program.text === '') return {};
  frame.budget.spend(words.map(({ text }) => text).join(' '));
  if (!program.text.replaceAll(unknown, '')) checkSource(program.source, frame);
  checkListed(program, frame);
  let output: Stream = {};
  for (const name of namesOf(program)) {
    const call = { name, args, frame };
    for (const rule of rules) {
      const reason = rule.check(call);
      if (reason !== undefined) refuse(frame, rule.name, reason);
    }
    output = runners.get(name)?.(call) ?? outputStreamOf(call);
  }
  return output;
}

const globNames = ['rm', 'cat', 'sh', 'bash', 'dd', 'chmod', 'chown', 'nc', 'mv', 'find'];

/** The possible names of a program: the last part of its path, '' if it is not written out. */
function namesOf(program: Argument): string[] {
  const pattern = program.pattern.slice(program.pattern.lastIndexOf('/') + 1);
  if (pattern.includes(unknown)) return [''];
  if (isGlob(pattern)) return globNames.filter((name) => matchesGlob(pattern, name));
  const name = program.text.slice(program.text.lastIndexOf('/') + 1);
  // `python3.12` counts as python.
  return [/^(?:python|perl|ruby|php|lua)\d/.test(name) ? name.replace(/\d[\d.]*$/, '') : name];
}
