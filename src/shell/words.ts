import { forEachChild, type SyntaxNode, type Word, type WordPart } from 'unbash';
import { type Argument, type CommandFrame, nested, protect, refuse, type Source, unknown } from './frame.ts';
import { policyLimits } from './limits.ts';
import { runStatements } from './walk.ts';

/** The arguments in a word. Expansions other than `~` and `$HOME` are not computed. */
export function readWord(word: Word, frame: CommandFrame): Argument[] {
  frame.budget.spend(word.text);
  if (word.parts === undefined) return [inHome(word.text, spelled(word.value), frame)];
  let results: Argument[] = [spelled('')];
  for (const part of word.parts) {
    const choices = part.type === 'BraceExpansion' ? alternatives(part.text) : [readPart(part, frame)];
    results = results.flatMap((start) => choices.map((end) => joined(start, end)));
    if (results.length > policyLimits.alternatives)
      refuse(frame, 'too-complex', 'A word has too many alternatives.');
  }
  return results.map((result) => inHome(word.text, result, frame));
}

/** The text of a word that is not split: the target of a redirect, a here-string. */
export function readText(word: Word, frame: CommandFrame): Argument {
  return readWord(word, frame)[0] ?? spelled('');
}

function readPart(part: WordPart, frame: CommandFrame): Argument {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return spelled(part.value);
    case 'Glob':
      return { text: part.text, pattern: part.text, dynamic: false };
    case 'DoubleQuoted':
    case 'LocaleString':
      return part.parts.map((child) => readPart(child, frame)).reduce(joined, spelled(''));
    case 'SimpleExpansion':
      return part.text === '$HOME' ? spelled(frame.policy.home) : computed();
    case 'ParameterExpansion': {
      const source = runSubstitutions(part, frame);
      const isPlain = part.operation === undefined || part.operation.type === 'Default';
      if (part.parameter === 'HOME' && part.prefix === undefined && isPlain)
        return spelled(frame.policy.home);
      // `${NAME:-word}` may have the value of its word.
      if (part.operation?.type !== 'Default' || part.operation.operator.endsWith('?'))
        return computed(source);
      return { ...readText(part.operation.operand, frame), dynamic: true };
    }
    default:
      return computed(runSubstitutions(part, frame));
  }
}

/** Checks every script in a node, such as `$(…)`, and returns the source of their output. */
export function runSubstitutions(node: SyntaxNode, frame: CommandFrame): Source | undefined {
  frame.budget.spend('');
  if ('script' in node) {
    const input = node.type === 'ProcessSubstitution' && node.operator === '>' ? frame.input : {};
    if (node.script === undefined) return undefined;
    return runStatements(node.script.commands, nested(frame, { input })).source;
  }
  let source: Source | undefined;
  forEachChild(node, (child) => {
    source = runSubstitutions(child, frame) ?? source;
  });
  return source;
}

function spelled(text: string): Argument {
  const dynamic = text.includes(unknown);
  return { text, pattern: protect(text), dynamic };
}

function computed(source?: Source): Argument {
  return { text: unknown, pattern: unknown, dynamic: true, source };
}

function joined(start: Argument, end: Argument): Argument {
  return {
    text: start.text + end.text,
    pattern: start.pattern + end.pattern,
    dynamic: start.dynamic || end.dynamic,
    source: start.source ?? end.source,
  };
}

/** The words of `{a,b}`. Nested braces and ranges count as unknown text. */
function alternatives(text: string): Argument[] {
  const inside = text.slice(1, -1);
  if (!inside.includes(',') || /[{}$`'"\\]/.test(inside)) return [computed()];
  return inside.split(',').map((word) => ({ text: word, pattern: word, dynamic: false }));
}

/** `~` and `~user` at the start of a word. */
function inHome(spelling: string, word: Argument, { policy }: CommandFrame): Argument {
  const user = /^~([\w-]*)(?=\/|$)/.exec(spelling)?.[1];
  if (user === undefined) return word;
  const home = user === '' ? policy.home : user === 'root' ? '/root' : `/home/${user}`;
  const length = user.length + 1;
  return { ...word, text: home + word.text.slice(length), pattern: home + word.pattern.slice(length) };
}
