import type { Command, GlobPart, SyntaxNode, Word } from 'unbash';
import { excerpt } from './verdict.ts';

/**
 * Text that the parser accepts without having understood it. Each case was found by running mutated commands
 * in real shells; each is refused, as nobody writes such text in earnest.
 */
export function misread(node: SyntaxNode): string | undefined {
  switch (node.type) {
    case 'CommandExpansion':
    case 'ArithmeticExpansion':
    case 'ProcessSubstitution':
    case 'ParameterExpansion':
      return isCut(node.text) ? `unclosed '${excerpt(node.text)}'` : undefined;
    case 'Unknown':
      return `the operation '${excerpt(node.operator)}'`;
    case 'Literal':
      return leftExpansion(node.text);
    case 'Word':
      return node.parts === undefined ? leftExpansion(node.text) : undefined;
    case 'HereDocDelimiter':
      return /[`$()]/.test(node.text) ? `an expansion in '${excerpt(node.text)}'` : undefined;
    case 'HereDoc':
      return node.delimiter?.quoted === true || node.body.parts !== undefined
        ? undefined
        : leftExpansion(node.body.text);
    case 'Command':
      return brokenBracket(node);
    default:
      return undefined;
  }
}

const closings: Readonly<Record<string, string>> = {
  '$(': ')',
  '<(': ')',
  '>(': ')',
  '${': '}',
  '$[': ']',
};

/** A substitution without its end: `${x/$(a /b)/c}` is cut at the wrong slash. */
function isCut(text: string): boolean {
  const closing = text.startsWith('`') ? '`' : closings[text.replaceAll('\\\n', '').slice(0, 2)];
  return closing !== undefined && (text.length < 2 || !text.endsWith(closing));
}

/** An expansion left standing as plain text, as in `name[ $(…) ]`. Joined lines are the matter of `parse.ts`. */
function leftExpansion(text: string): string | undefined {
  if (!/[$`]/.test(text)) return undefined;
  const bare = text.replace(/\\./gs, '\n');
  return /`|\$[({\w@*#?!$-]/.test(bare) ? `an expansion in '${excerpt(text)}'` : undefined;
}

/** `name[ ; … ]` is one word to bash and several commands to other shells. */
function brokenBracket(node: Command): string | undefined {
  const texts: string[] = [];
  for (const item of [node.name, ...node.prefix, ...node.suffix]) {
    if (item?.type === 'Assignment' && item.index !== undefined) texts.push(...bareTexts(item.index));
    if (item?.type !== 'Word') continue;
    for (const part of item.parts ?? []) {
      if (part.type === 'Glob') texts.push(...bareTexts(part));
    }
  }
  const broken = texts.find((text) => /[\s;&|<>()]/.test(text.replace(/\\./gs, '')));
  return broken && `unquoted separators in '[${excerpt(broken)}]'`;
}

/** The text of a node that stands outside quotes and expansions. */
function bareTexts({ text, parts }: Word | GlobPart): string[] {
  return parts === undefined
    ? [text]
    : parts.filter((part) => part.type === 'Literal').map((part) => part.text);
}
