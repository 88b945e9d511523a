import type { ArrayValue, Assignment, Command, Word } from 'unbash';
import { type Breadth, Choices } from './choices.ts';
import { expandText, expandWords } from './expand.ts';
import type { Frame } from './frame.ts';
import { runSimple } from './invoke.ts';
import { runRedirected } from './redirect.ts';
import { checkGivenPaths } from './rules/key-files.ts';
import type { Scope, Value } from './scope.ts';
import { setVariable } from './variables.ts';

/** A simple command, once for every combination of values that its variables may have. */
export function runCommand(node: Command, frame: Frame): string {
  return commandOutputs(node, frame).join('');
}

/** What the command may print, one text for each that differs. */
export function commandOutputs(node: Command, frame: Frame): string[] {
  const choices = new Choices(breadthFor(node));
  const at = frame.source.slice(node.pos, node.end);
  const outputs = new Set<string>();
  let first = true;
  do {
    frame.inspection.budget.spend(1 + node.suffix.length, at);
    outputs.add(runOnce(node, { ...frame, choices, at, sinks: [] }, first));
    first = false;
  } while (choices.next(at));
  return [...outputs];
}

const withoutEffect = new Set('test [ : true false return exit break continue shift wait sleep'.split(' '));

/** A program that is written out leaves only its arguments open; some have no effect whatever they are given. */
function breadthFor({ name }: Command): Breadth {
  const isWrittenOut = name?.parts?.every((part) => part.type === 'Literal') ?? true;
  if (!isWrittenOut) return 'pairs';
  return withoutEffect.has(name?.value ?? '') ? 'first' : 'each';
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
    if (assignments.length === 0) return runSimple(argv, inner);
    const scope = inner.scope.fork();
    for (const assignment of assignments) assign(assignment, inner, scope, true);
    checkGivenPaths(assignments.map((assignment) => scope.values(assignment.name)).flat(2), inner);
    const output = runSimple(argv, { ...inner, scope });
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
