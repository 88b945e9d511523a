import { type Frame, refuse } from './frame.ts';
import type { Value } from './scope.ts';

/** Variables that a program runs as a command, or that decide which program runs. */
const commandVariables =
  /^(?:PROMPT_COMMAND|GIT_SSH_COMMAND|GIT_EDITOR|GIT_SEQUENCE_EDITOR|GIT_PAGER|GIT_EXTERNAL_DIFF|GIT_ASKPASS|PAGER|MANPAGER|EDITOR|VISUAL|BROWSER|SUDO_ASKPASS|SSH_ASKPASS)$/;
const programVariables = /^(?:PATH|ENV|BASH_ENV|SHELL|LD_PRELOAD|LD_LIBRARY_PATH|LD_AUDIT)$/;

/** Sets a variable; one whose value is run somewhere is looked at as a command. */
export function setVariable(
  name: string,
  items: Value,
  frame: Frame,
  replaces = true,
  appends = false,
): void {
  const { scope } = frame;
  if (commandVariables.test(name)) frame.shell.runText(items.join(' '), { ...frame, scope: scope.fork() });
  if (frame.inspection.policy.mode === 'strict' && programVariables.test(name)) {
    refuse(frame, 'dynamic', `Setting ${name} changes which program a name stands for.`);
  }
  const before = appends ? scope.values(name) : [];
  const after = before.length === 0 ? [items] : before.map((old) => joinValues(old, items));
  if (replaces) scope.set(name, ...after);
  else for (const value of after) scope.add(name, value);
  for (const value of after) for (const item of value) frame.inspection.budget.read(item, frame.at);
}

function joinValues(old: Value, added: Value): Value {
  return old.length === 1 && added.length === 1 ? [(old[0] ?? '') + (added[0] ?? '')] : [...old, ...added];
}
