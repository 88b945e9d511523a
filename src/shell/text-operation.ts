import type { ParameterOperation, Word } from 'unbash';
import { unprotect } from './field.ts';
import { type Frame, unknown } from './frame.ts';
import { globMatcher, isGlob } from './glob.ts';
import type { Value } from './scope.ts';
import { hasUnknown } from './unknowns.ts';

/** Longer values are not searched with globs, which costs more than the square of the length. */
const longestRemoved = 256;
const longestReplaced = 64;

/** `${name#a}`, `${name/a/b}`, `${name:1:2}`, `${name^^}`: what the operation makes of each item. */
export function changeText(
  items: Value | undefined,
  operation: ParameterOperation,
  frame: Frame,
): Value | undefined {
  switch (operation.type) {
    case 'Remove': {
      const pattern = patternOf(operation.operand, frame);
      const longest = isGlob(pattern) ? longestRemoved : Number.POSITIVE_INFINITY;
      return each(items, frame, (item) => removed(item, pattern, operation.operator), longest);
    }
    case 'Replace': {
      const pattern = patternOf(operation.pattern, frame);
      const replacement = frame.shell.expandText(operation.replacement, frame);
      const longest = isGlob(pattern) ? longestReplaced : Number.POSITIVE_INFINITY;
      return each(items, frame, (item) => replaced(item, pattern, replacement, operation.operator), longest);
    }
    case 'Slice': {
      const offset = integer(frame.shell.expandText(operation.offset, frame));
      const length = operation.length && integer(frame.shell.expandText(operation.length, frame));
      if (offset === undefined || (operation.length !== undefined && length === undefined))
        return lost(items, frame);
      if (items !== undefined && items.length > 1) return sliced(items, offset, length);
      return each(items, frame, (item) => sliced([...item], offset, length).join(''));
    }
    case 'CaseModification':
      if (operation.operand !== undefined) frame.shell.expandText(operation.operand, frame);
      return each(items, frame, (item) => recased(item, operation.operator));
    case 'Transform':
      return lost(items, frame);
    case 'Unknown':
    case 'Names':
    case 'Default':
      return lost(items, frame);
  }
}

function each(
  items: Value | undefined,
  frame: Frame,
  change: (item: string) => string,
  longest = Number.POSITIVE_INFINITY,
): Value | undefined {
  return items?.map((item) => {
    frame.inspection.budget.read(item, frame.at);
    if (longest < Number.POSITIVE_INFINITY) frame.inspection.budget.spend(4 * item.length, frame.at);
    return hasUnknown(item) || item.length > longest ? (lost([item], frame)?.[0] ?? item) : change(item);
  });
}

/** The value can no longer be told, only where it came from. */
function lost(items: Value | undefined, frame: Frame): Value | undefined {
  if (items === undefined) return undefined;
  const text = items.join(' ');
  return [unknown(frame, frame.inspection.unknowns.originOf(text) ?? 'unknown', `changed ${text}`)];
}

function patternOf(word: Word, frame: Frame): string {
  return frame.shell
    .expandWord(word, frame)
    .map((field) => field.pattern)
    .join(' ');
}

function integer(text: string): number | undefined {
  return /^\s*-?\d{1,9}\s*$/.test(text) ? Number(text) : undefined;
}

function sliced<T>(items: readonly T[], offset: number, length: number | undefined): T[] {
  const start = offset < 0 ? Math.max(0, items.length + offset) : offset;
  if (length === undefined) return items.slice(start);
  return length < 0 ? items.slice(start, length) : items.slice(start, start + length);
}

function removed(item: string, pattern: string, operator: '#' | '##' | '%' | '%%'): string {
  if (!isGlob(pattern)) {
    const literal = unprotect(pattern);
    if (operator.startsWith('#')) return item.startsWith(literal) ? item.slice(literal.length) : item;
    return item.endsWith(literal) ? item.slice(0, item.length - literal.length) : item;
  }
  const lengths = Array.from({ length: item.length + 1 }, (_, length) => length);
  if (operator.length === 2) lengths.reverse();
  const matches = globMatcher(pattern);
  for (const length of lengths) {
    const atStart = operator.startsWith('#');
    const candidate = atStart ? item.slice(0, length) : item.slice(item.length - length);
    if (matches(candidate)) return atStart ? item.slice(length) : item.slice(0, item.length - length);
  }
  return item;
}

function replaced(
  item: string,
  pattern: string,
  replacement: string,
  operator: '/' | '//' | '/#' | '/%',
): string {
  if (!isGlob(pattern) && !operator.endsWith('#') && !operator.endsWith('%')) {
    const literal = unprotect(pattern);
    if (literal === '') return item;
    return operator === '//'
      ? item.replaceAll(literal, () => replacement)
      : item.replace(literal, () => replacement);
  }
  if (item.length > longestReplaced) return item;
  const matches = globMatcher(pattern);
  let result = '';
  for (let at = 0; at < item.length; ) {
    const length = operator === '/#' && at > 0 ? 0 : matchLength(item, at, matches, operator === '/%');
    if (length === 0) {
      result += item.charAt(at++);
      continue;
    }
    result += replacement;
    at += length;
    if (operator !== '//') return result + item.slice(at);
  }
  return result;
}

function matchLength(item: string, at: number, matches: (text: string) => boolean, toEnd: boolean): number {
  for (let end = item.length; end > at; end--) {
    if (matches(item.slice(at, end))) return end - at;
    if (toEnd) return 0;
  }
  return 0;
}

function recased(item: string, operator: '^' | '^^' | ',' | ',,'): string {
  const change = (text: string) => (operator.startsWith('^') ? text.toUpperCase() : text.toLowerCase());
  return operator.length === 2 ? change(item) : change(item.charAt(0)) + item.slice(1);
}
