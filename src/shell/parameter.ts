import type { ParameterExpansionPart, ParameterOperation, SimpleExpansionPart, Word } from 'unbash';
import type { FieldBuilder } from './field.ts';
import { type Frame, folder, unknown } from './frame.ts';
import { limits } from './limits.ts';
import type { Value } from './scope.ts';
import { tooManyValues } from './unknowns.ts';

/** What is always set, to a value that the policy cannot know. */
const alwaysSet = new Set('USER LANG PPID LINENO ? $'.split(' '));

/** What some shells set, or only later: it may be empty. */
const perhapsSet = new Set(
  (
    'OLDPWD ! - _ UID EUID RANDOM SRANDOM SECONDS HOSTNAME SHLVL EPOCHSECONDS EPOCHREALTIME BASHPID REPLY ' +
    'PIPESTATUS BASH_VERSION BASH_SOURCE FUNCNAME TERM'
  ).split(' '),
);

/** The characters at which unquoted values are split. */
export function separators(frame: Frame): string {
  return frame.choices.pick('IFS', frame.scope.values('IFS'))?.[0] ?? ' \t\n';
}

/** The items of a parameter: one for a plain variable, all arguments for `@`; `undefined` when it is unset. */
export function parameterItems(name: string, frame: Frame): Value | undefined {
  const { scope } = frame;
  if (name === '@' || name === '*') return scope.arguments ?? [unknown(frame, 'unknown', 'arguments')];
  if (name === '#') return scope.arguments && [String(scope.arguments.length)];
  if (name === '0') return [scope.scriptName];
  if (/^\d+$/.test(name)) {
    if (scope.arguments === undefined) return [unknown(frame, 'unknown', `argument ${name}`)];
    const argument = scope.arguments[Number(name) - 1];
    return argument === undefined ? undefined : [argument];
  }
  const assigned = frame.choices.pick(name, scope.values(name));
  if (assigned !== undefined) return assigned;
  if (name === 'PWD') return [folder(frame).text];
  if (name === 'IFS') return [' \t\n'];
  const value = () => unknown(frame, 'unknown', `$${name}`);
  if (alwaysSet.has(name) || scope.failsOnUnset) return [value()];
  return perhapsSet.has(name) ? frame.choices.pick(name, [[value()], ['']]) : undefined;
}

/** Adds the value of `$name` or `${name…}`. */
export function expandParameter(
  part: SimpleExpansionPart | ParameterExpansionPart,
  frame: Frame,
  out: FieldBuilder,
  quoted: boolean,
): void {
  if (part.type === 'SimpleExpansion') {
    const name = part.text.slice(1).replaceAll('\\\n', '');
    addItems(parameterItems(name, frame), name, frame, out, quoted);
    return;
  }
  if (part.index !== undefined && part.index.text !== '@' && part.index.text !== '*')
    frame.shell.expandText(part.index, frame);
  const name = part.prefix === '!' ? indirectName(part, frame) : part.parameter;
  const items =
    name === undefined ? [unknown(frame, 'unknown', part.text)] : itemsAt(name, part.index, frame);
  if (part.prefix === '#') {
    addItems([String(items?.[0]?.length ?? 0)], '', frame, out, quoted);
  } else if (part.operation?.type === 'Default') {
    expandDefault(part, part.operation, items, frame, out, quoted);
  } else {
    const { operation } = part;
    const value = operation === undefined ? items : changed(items, operation, frame);
    addItems(value, part.index?.text ?? name ?? '', frame, out, quoted);
  }
}

/** `${name#a}`, `${name/a/b}`, `${name:1:2}`: what comes out is not worked out; it comes from where the value came from. */
function changed(items: Value | undefined, operation: ParameterOperation, frame: Frame): Value | undefined {
  for (const word of Object.values(operation))
    if (typeof word === 'object') frame.shell.expandText(word, frame);
  if (items === undefined) return undefined;
  const text = items.join(' ');
  return [unknown(frame, frame.inspection.unknowns.originOf(text) ?? 'unknown', `changed ${text}`)];
}

/** `${!name}`: the variable that is named by another; the lists of names that it also means stay unknown. */
function indirectName(part: ParameterExpansionPart, frame: Frame): string | undefined {
  if (part.operation?.type === 'Names' || part.index !== undefined) return undefined;
  const target = parameterItems(part.parameter, frame)?.[0];
  return target !== undefined && /^(?:\w+|[@*#])$/.test(target) ? target : undefined;
}

function itemsAt(name: string, index: Word | undefined, frame: Frame): Value | undefined {
  const items = parameterItems(name, frame);
  if (index === undefined) return name === '@' || name === '*' ? items : items?.slice(0, 1);
  if (index.text === '@' || index.text === '*') return items;
  const key = frame.shell.expandText(index, frame);
  const named = frame.choices.pick(`${name}[${key}]`, frame.scope.values(`${name}[${key}]`));
  if (named !== undefined) return named;
  // An index that must be computed may mean any item.
  if (!/^\d+$/.test(key)) {
    if (items === undefined || items.length > limits.values) return items && [tooManyValues];
    return frame.choices.pick(
      `${name}[?]`,
      items.map((item) => [item]),
    );
  }
  const item = items?.[Number(key)];
  return item === undefined ? undefined : [item];
}

function expandDefault(
  part: ParameterExpansionPart,
  operation: Extract<ParameterExpansionPart['operation'], { type: 'Default' }>,
  items: Value | undefined,
  frame: Frame,
  out: FieldBuilder,
  quoted: boolean,
): void {
  const empty = items === undefined || (operation.operator.startsWith(':') && items.join('') === '');
  const kind = operation.operator.at(-1);
  const operand = () => {
    if (operation.operand.parts === undefined || quoted) {
      addItems([frame.shell.expandText(operation.operand, frame)], '', frame, out, quoted);
    } else {
      frame.shell.expandParts(operation.operand.parts, frame, out);
    }
  };
  // The word is looked at even where it is not used: its commands are part of the script.
  if (empty ? kind === '+' : kind !== '+') frame.shell.expandText(operation.operand, frame);
  if (kind === '+') {
    if (!empty) operand();
  } else if (!empty) {
    addItems(items, part.index?.text ?? part.parameter, frame, out, quoted);
  } else if (kind === '?') {
    // The shell stops here when the variable is empty, so whatever goes on has some value.
    addItems([unknown(frame, 'unknown', `$${part.parameter}`)], '', frame, out, quoted);
  } else {
    if (kind === '=') frame.scope.set(part.parameter, [frame.shell.expandText(operation.operand, frame)]);
    operand();
  }
}

function addItems(
  items: Value | undefined,
  name: string,
  frame: Frame,
  out: FieldBuilder,
  quoted: boolean,
): void {
  if (items === undefined) {
    if (quoted) out.add('', false, true);
    return;
  }
  if (quoted && name !== '@') {
    out.add(items.join(separators(frame).charAt(0)), false, true);
    return;
  }
  items.forEach((item, index) => {
    if (index > 0) out.breakField();
    if (quoted) out.add(item, false, true);
    else out.addSplit(item, separators(frame));
  });
}
