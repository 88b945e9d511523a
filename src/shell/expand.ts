import type { DoubleQuotedChild, ProcessSubstitutionPart, Script, Word, WordPart } from 'unbash';
import { hasBraces, withoutBraces } from './brace.ts';
import { type Field, FieldBuilder } from './field.ts';
import { type Frame, folder, refuse, unknown } from './frame.ts';
import { limits } from './limits.ts';
import { lookInside } from './look-inside.ts';
import { expandParameter, parameterItems, separators } from './parameter.ts';
import { withoutMarks, withoutUnknown } from './unknowns.ts';

/** The words of a command as the program would receive them. */
export function expandWords(words: readonly Word[], frame: Frame): Field[] {
  const fields: Field[] = [];
  for (const word of words) {
    for (const field of expandWord(word, frame)) fields.push(field);
    if (fields.length > limits.fields) refuse(frame, 'too-complex', 'The command expands to too many words.');
  }
  return fields;
}

/** One word: braces, tilde, parameters, substitutions, splitting. Globs stay as patterns. */
export function expandWord(word: Word, frame: Frame): Field[] {
  frame.inspection.budget.read(word.text, frame.at);
  if (hasBraces(word)) {
    return expandWords(withoutBraces(word, frame), frame);
  }
  const out = new FieldBuilder();
  const rest = expandTilde(word, frame, out);
  if (word.parts === undefined) addUnquoted(rest, out);
  else expandParts(word.parts, frame, out, rest);
  const { fields } = out;
  for (const field of fields) frame.inspection.budget.read(field.text, frame.at);
  return fields;
}

/** A word where the shell neither splits nor looks for files: an assignment's value, a `case` word. */
export function expandText(word: Word, frame: Frame): string {
  return word.text.split(':', 2).length > 1 && word.parts === undefined
    ? word.text
        .split(':')
        .map((piece) => joined({ ...word, text: piece }, frame))
        .join(':')
    : joined(word, frame);
}

function joined(word: Word, frame: Frame): string {
  frame.inspection.budget.read(word.text, frame.at);
  const out = new FieldBuilder();
  const rest = expandTilde(word, frame, out);
  if (word.parts === undefined) addUnquoted(rest, out);
  else expandParts(word.parts, frame, out, rest, true);
  const text = out.fields.map((field) => field.text).join(' ');
  frame.inspection.budget.read(text, frame.at);
  return text;
}

/** The body of a here-document that the shell expands. */
export function expandHereDoc(parts: readonly WordPart[] | undefined, text: string, frame: Frame): string {
  frame.inspection.budget.read(text, frame.at);
  if (parts === undefined) return text.replace(/\\([$`\\])|\\\n/g, '$1');
  const out = new FieldBuilder();
  expandParts(parts, frame, out, undefined, true);
  return out.fields.map((field) => field.text).join('');
}

/**
 * Adds the parts of a word. `first` replaces the text of the first literal part where a tilde was taken from
 * it; `whole` means that expansions are not split.
 */
export function expandParts(
  parts: readonly WordPart[],
  frame: Frame,
  out: FieldBuilder,
  first?: string,
  whole = false,
): void {
  parts.forEach((part, index) => {
    switch (part.type) {
      case 'Literal':
        addUnquoted(index === 0 && first !== undefined ? first : part.text, out);
        break;
      case 'SingleQuoted':
        out.add(part.value, false);
        break;
      case 'AnsiCQuoted':
        out.add(withoutMarks(part.value), false);
        break;
      case 'DoubleQuoted':
      case 'LocaleString':
        // `"$@"` without arguments is no word at all.
        if (!part.parts.every(isAllItems) || part.parts.length === 0) out.add('', false);
        for (const child of part.parts) expandQuoted(child, frame, out);
        break;
      case 'Glob':
        if (part.kind === 'bracket') {
          out.add('[', true);
          expandParts(part.parts, frame, out);
          out.add(']', true);
        } else {
          out.add(part.text, true);
        }
        break;
      case 'ExtendedGlob':
        if (part.parts !== undefined) expandParts(part.parts, frame, new FieldBuilder());
        out.add('*', true, true);
        break;
      case 'BraceExpansion':
        if (part.parts === undefined) addUnquoted(part.text, out);
        else expandParts(part.parts, frame, out, undefined, whole);
        break;
      case 'ProcessSubstitution':
        out.add(processSubstitution(part, frame), false, true);
        break;
      case 'SimpleExpansion':
      case 'ParameterExpansion':
        if (whole) expandQuoted(part, frame, out);
        else expandParameter(part, frame, out, false);
        break;
      case 'CommandExpansion':
      case 'ArithmeticExpansion':
        if (whole) expandQuoted(part, frame, out);
        else out.addSplit(substituted(part, frame), separators(frame));
        break;
    }
  });
}

function isAllItems(part: DoubleQuotedChild): boolean {
  if (part.type === 'SimpleExpansion') return part.text === '$@';
  return part.type === 'ParameterExpansion' && (part.parameter === '@' || part.index?.text === '@');
}

/** A part inside double quotes: nothing is split and no glob works. */
function expandQuoted(part: DoubleQuotedChild, frame: Frame, out: FieldBuilder): void {
  switch (part.type) {
    case 'Literal':
      out.add(part.value, false);
      break;
    case 'SimpleExpansion':
    case 'ParameterExpansion':
      expandParameter(part, frame, out, true);
      break;
    default:
      out.add(substituted(part, frame), false, true);
  }
}

function substituted(
  part: Extract<WordPart, { type: 'CommandExpansion' | 'ArithmeticExpansion' }>,
  frame: Frame,
): string {
  if (part.type === 'ArithmeticExpansion') {
    if (part.expression !== undefined) lookInside(part.expression, frame);
    return unknown(frame, 'unknown', part.text);
  }
  const outputs = substitutions(part.script, frame).map((output) =>
    output.replaceAll('\0', '').replace(/\n+$/, ''),
  );
  return frame.choices.pick(`substitution ${part.pos}`, [...new Set(outputs)]) ?? '';
}

/** What a substitution may give. One of several commands may print nothing. */
function substitutions(script: Script | undefined, frame: Frame): string[] {
  if (script === undefined) return [''];
  const inner = { ...frame, scope: frame.scope.fork() };
  if (script.source !== undefined) return [frame.shell.runText(script.source, inner)];
  const outputs = frame.shell.outputsOf(script, inner);
  const isSingle = script.commands.length === 1 && script.commands[0]?.command.type === 'Command';
  const [output = ''] = outputs;
  if (isSingle || frame.inspection.unknowns.originOf(output) !== 'unknown') return outputs;
  return [output, withoutUnknown(output).trim()];
}

/** `<(…)` becomes a name whose content is the script's output; `>(…)` is run later, on what is written to it. */
function processSubstitution(part: ProcessSubstitutionPart, frame: Frame): string {
  const name = unknown(frame, 'unknown', `${part.pos} ${part.text}`);
  if (part.operator === '<') {
    frame.inspection.files.set(name, substitutions(part.script, { ...frame, stdin: '' })[0] ?? '');
  } else if (part.script !== undefined) {
    frame.sinks.push(part.script);
  }
  return name;
}

/** Takes a leading `~` or `~name` off the word and adds the folder it stands for; returns the remaining text. */
function expandTilde(word: Word, frame: Frame, out: FieldBuilder): string {
  const start =
    word.parts === undefined ? word.text : word.parts[0]?.type === 'Literal' ? word.parts[0].text : '';
  const match = /^~([\w.+-]*)(?=\/|$)/.exec(start);
  if (match === null || (match[0] === start && (word.parts?.length ?? 0) > 1)) return start;
  out.add(homeOf(match[1] ?? '', frame), false);
  return start.slice(match[0].length);
}

function homeOf(user: string, frame: Frame): string {
  if (user === '') return parameterItems('HOME', frame)?.[0] ?? frame.inspection.policy.home;
  if (user === '+') return folder(frame).text;
  if (user === '-') return unknown(frame, 'unknown', 'OLDPWD');
  return user === 'root' ? '/root' : `/home/${user}`;
}

/** Text outside quotes: a backslash protects the next character and joins lines. */
function addUnquoted(text: string, out: FieldBuilder): void {
  let plain = '';
  for (let at = 0; at < text.length; at++) {
    if (text[at] !== '\\') {
      plain += text.charAt(at);
      continue;
    }
    if (plain !== '') out.add(plain, true);
    plain = '';
    at++;
    if (at >= text.length) out.add('\\', false);
    else if (text[at] !== '\n') out.add(text.charAt(at), false);
  }
  if (plain !== '') out.add(plain, true);
}
