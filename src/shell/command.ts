import type { ArrayValue, Assignment, Command, Word } from 'unbash';
import { Choices } from './choices.ts';
import { expandText, expandWords } from './expand.ts';
import { type Frame, refuse } from './frame.ts';
import { invoke } from './invoke.ts';
import { runRedirected } from './redirect.ts';
import { checkGivenPaths } from './rules/key-files.ts';
import type { Scope, Value } from './scope.ts';

/** A simple command, once for every combination of values that its variables may have. */
export function runCommand(node: Command, frame: Frame): string {
  const choices = new Choices();
  const at = frame.source.slice(node.pos, node.end);
  let output = '';
  let first = true;
  do {
    frame.inspection.budget.spend(1 + node.suffix.length, at);
    output += runOnce(node, { ...frame, choices, at, sinks: [] }, first);
    first = false;
  } while (choices.next(at));
  return output;
}

function runOnce(node: Command, frame: Frame, first: boolean): string {
  const assignments = node.prefix.filter((item) => item.type === 'Assignment');
  return runRedirected(node.redirects, frame, (inner) => {
    const words = node.args.flatMap((argument) =>
      argument.type === 'Word' ? argument : wordOf(argument, inner),
    );
    const argv = expandWords(node.name === undefined ? words : [node.name, ...words], inner);
    if (argv.length === 0) {
      for (const assignment of assignments) assign(assignment, inner, inner.scope, first);
      return node.name === undefined && node.redirects.some((redirect) => redirect.operator === '<')
        ? inner.stdin
        : '';
    }
    if (assignments.length === 0) return invoke(argv, inner);
    const scope = inner.scope.fork();
    for (const assignment of assignments) assign(assignment, inner, scope, true);
    checkGivenPaths(assignments.map((assignment) => scope.values(assignment.name)).flat(2), inner);
    const output = invoke(argv, { ...inner, scope });
    inner.scope.adopt(scope, new Set(assignments.map((assignment) => assignment.name)));
    return output;
  });
}

/** `export X=1` has an assignment for an argument, which is a word to the builtin; an array is set right away. */
function wordOf(assignment: Assignment, frame: Frame): Word[] {
  const { pos, end, text, value } = assignment;
  if (value.type === 'ArrayValue') {
    assign(assignment, frame, frame.scope, true);
    return [];
  }
  const start = text.slice(0, value.pos - pos);
  const rest = value.parts ?? [
    { type: 'Literal' as const, pos: value.pos, end, text: value.text, value: value.value },
  ];
  const parts = [{ type: 'Literal' as const, pos, end: value.pos, text: start, value: start }, ...rest];
  return [{ type: 'Word', pos, end, text, value: text, parts }];
}

/** Variables that a program runs as a command, or that decide which program runs. */
const commandVariables =
  /^(?:PROMPT_COMMAND|GIT_SSH_COMMAND|GIT_EDITOR|GIT_SEQUENCE_EDITOR|GIT_PAGER|GIT_EXTERNAL_DIFF|GIT_ASKPASS|PAGER|MANPAGER|EDITOR|VISUAL|BROWSER|SUDO_ASKPASS|SSH_ASKPASS)$/;
const programVariables = /^(?:PATH|ENV|BASH_ENV|SHELL|LD_PRELOAD|LD_LIBRARY_PATH|LD_AUDIT)$/;

function assign(assignment: Assignment, frame: Frame, scope: Scope, replaces: boolean): void {
  const { value } = assignment;
  const items: Value =
    value.type === 'ArrayValue' ? elements(assignment.name, value, frame, scope) : [expandText(value, frame)];
  const key = assignment.index === undefined ? '' : `[${expandText(assignment.index, frame)}]`;
  setVariable(`${assignment.name}${key}`, items, { ...frame, scope }, replaces, assignment.append === true);
}

/** The items of `(a b [2]=c)`; those with a key are also set under it. */
function elements(name: string, value: ArrayValue, frame: Frame, scope: Scope): string[] {
  return expandWords(value.elements, frame).map(({ text }) => {
    const [, key, item] = /^\[([^\]]*)\]=(.*)$/s.exec(text) ?? [];
    if (key === undefined || item === undefined) return text;
    scope.set(`${name}[${key}]`, [item]);
    return item;
  });
}

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
