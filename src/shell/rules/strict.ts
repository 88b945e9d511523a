import { type Argument, type CommandFrame, refuse } from '../frame.ts';
import { isGlob } from '../glob.ts';
import { excerpt } from '../verdict.ts';

/** Shell builtins that run nothing themselves, or whose commands are checked separately. */
const builtins = new Set(
  (
    ': . source true false echo printf test [ cd pwd pushd popd dirs export unset set shift return exit break continue local declare ' +
    'typeset readonly read wait trap type command builtin hash umask ulimit getopts times jobs fg bg let alias unalias shopt ' +
    'mapfile readarray eval exec kill time'
  ).split(' '),
);

const systemFolder = /^\/(?:usr\/(?:local\/)?)?s?bin\/([^/]+)$/;

/** Refuses, in strict mode, a program that is not listed or whose name is not written out. */
export function checkListed(program: Argument, frame: CommandFrame): void {
  const { policy, functions } = frame;
  if (policy.mode !== 'strict') return;
  if (program.dynamic || isGlob(program.pattern)) {
    refuse(frame, 'dynamic', `The program ${excerpt(program.text)} is not written out.`);
  }
  const name = systemFolder.exec(program.text)?.[1] ?? program.text;
  if (builtins.has(name) || policy.programs.includes(name) || functions.has(name)) return;
  refuse(frame, 'not-listed', `The program ${excerpt(program.text)} is not on the allow list.`);
}
