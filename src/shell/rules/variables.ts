import type { Assignment } from 'unbash';
import { type CommandFrame, refuse } from '../frame.ts';
import { runArgument } from '../walk.ts';
import { readWord, runSubstitutions } from '../words.ts';
import { keyFileIn } from './key-files.ts';

/** Variables whose value a program runs as a command. */
const commandVariables =
  /^(?:PROMPT_COMMAND|GIT_SSH_COMMAND|GIT_EDITOR|GIT_SEQUENCE_EDITOR|GIT_PAGER|GIT_EXTERNAL_DIFF|GIT_ASKPASS|PAGER|MANPAGER|EDITOR|VISUAL|BROWSER|SUDO_ASKPASS|SSH_ASKPASS)$/;
/** Variables that decide which program a name refers to. */
const programVariables = /^(?:PATH|ENV|BASH_ENV|SHELL|LD_PRELOAD|LD_LIBRARY_PATH|LD_AUDIT)$/;

/** Checks `NAME=value`, before a command or as an argument of `export`. */
export function checkAssignment(node: Assignment, frame: CommandFrame): void {
  if (node.index !== undefined) runSubstitutions(node.index, frame);
  const words = node.value.type === 'Word' ? [node.value] : node.value.elements;
  for (const value of words.flatMap((word) => readWord(word, frame))) {
    checkVariable(node.name, value, frame);
  }
}

/** Checks the value of a variable that programs read. */
export function checkVariable(
  name: string,
  value: { readonly text: string; readonly pattern: string; readonly dynamic: boolean },
  frame: CommandFrame,
): void {
  if (frame.policy.mode === 'strict' && programVariables.test(name)) {
    refuse(frame, 'dynamic', `Setting ${name} changes which program a name refers to.`);
  }
  if (commandVariables.test(name)) runArgument(value, frame);
  const key =
    /^[A-Z]/.test(name) && /^[/~.]/.test(value.pattern) ? keyFileIn(value.pattern, frame) : undefined;
  if (key !== undefined) refuse(frame, 'key-files', `It would read ${key}, which contains secrets.`);
}
