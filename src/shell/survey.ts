import { forEachChild, type ParseError, type Script, type SyntaxNode } from 'unbash';
import { limits } from './limits.ts';
import { misread } from './misread.ts';
import { excerpt, Refusal } from './verdict.ts';

/** A place that a POSIX shell reads differently, and the text that makes bash's parser read it that way. */
export interface Edit {
  readonly kind: 'arithmetic' | 'test' | 'ampersand' | 'ansi-quote' | 'old-arithmetic';
  readonly pos: number;
  readonly remove: number;
  readonly insert: string;
}

export interface Survey {
  readonly problem: ParseError | undefined;
  readonly edits: readonly Edit[];
}

/**
 * Goes once over a whole tree. The parser is tolerant: it reports most errors, and goes on. So that no text
 * can fall between its nodes unseen, what lies between them is looked at, too: only separators, keywords and
 * comments may be there.
 */
export function survey(root: Script, source: string): Survey {
  const edits: Edit[] = [];
  let problem: ParseError | undefined;
  const open: Visit[] = [{ node: root, source, spans: [], outermost: true, depth: 0 }];
  const scripts: Visit[] = [];
  for (let visit = open.pop(); visit !== undefined; visit = open.pop()) {
    const { node } = visit;
    if (node.type === 'Script') {
      const inner = { ...visit, source: node.source ?? visit.source, spans: [], depth: visit.depth + 1 };
      // Each further level is parsed on first sight, so the depth is watched on the way down.
      if (inner.depth > limits.depth) {
        throw new Refusal('too-complex', 'The command is nested too deeply.', excerpt(visit.source));
      }
      scripts.push(inner);
      if ('errors' in node) problem ??= node.errors?.[0];
      visit = { ...inner, outermost: visit.outermost && node.source === undefined };
    }
    const unread = misread(node);
    if (unread !== undefined) problem ??= { message: unread, pos: node.pos };
    if (visit.outermost) edits.push(...editsFor(node));
    visit.spans.push(...spansOf(node));
    const { source: ownSource, spans, outermost, depth } = visit;
    forEachChild(node, (child) => open.push({ node: child, source: ownSource, spans, outermost, depth }));
  }
  problem ??= scripts.map(strayText).find((stray) => stray !== undefined);
  return { problem, edits };
}

interface Visit {
  readonly node: SyntaxNode;
  readonly source: string;
  /** The stretches of text that the nodes of the enclosing script account for. */
  readonly spans: [number, number][];
  /** False inside backticks with escapes, whose positions point into a text of their own. */
  readonly outermost: boolean;
  readonly depth: number;
}

function editsFor(node: SyntaxNode): Edit[] {
  switch (node.type) {
    case 'ArithmeticCommand':
      return [
        { kind: 'arithmetic', pos: node.pos + 1, remove: 0, insert: ' ' },
        { kind: 'arithmetic', pos: node.end - 1, remove: 0, insert: ' ' },
      ];
    case 'TestCommand':
      return [{ kind: 'test', pos: node.pos, remove: 2, insert: '[ ' }];
    case 'Redirect':
      return node.operator.startsWith('&')
        ? [{ kind: 'ampersand', pos: node.pos + 1, remove: 0, insert: ' ' }]
        : [];
    case 'AnsiCQuoted':
      return [{ kind: 'ansi-quote', pos: node.pos, remove: 0, insert: '\\' }];
    case 'ArithmeticExpansion':
      return node.text.startsWith('$[')
        ? [{ kind: 'old-arithmetic', pos: node.pos, remove: 0, insert: '\\' }]
        : [];
    default:
      return [];
  }
}

function spansOf(node: SyntaxNode): [number, number][] {
  switch (node.type) {
    case 'Word':
    case 'Assignment':
    case 'Redirect':
    case 'HereString':
    case 'HereDocBody':
    case 'TestCommand':
    case 'ArithmeticCommand':
    case 'ArithmeticBinary':
    case 'ArithmeticUnary':
    case 'ArithmeticTernary':
    case 'ArithmeticGroup':
    case 'ArithmeticWord':
      return [[node.pos, node.end]];
    case 'HereDoc':
      return node.closing === undefined
        ? [[node.pos, node.end]]
        : [
            [node.pos, node.end],
            [node.closing.pos, node.closing.end],
          ];
    default:
      return [];
  }
}

const allowedBetween =
  /^(?:\s|\\\n|[;&|(){}!]|#[^\n]*(?:\n|$)|(?:if|then|elif|else|fi|for|in|while|until|do|done|case|esac|select|function|coproc|time|-p|--)(?![^\s;&|(){}]))*$/;

function strayText({ node, source, spans }: Visit): ParseError | undefined {
  let from = node.pos;
  let opened = 0;
  for (const [start, end] of [...spans.toSorted((a, b) => a[0] - b[0]), [node.end, node.end] as const]) {
    if (start > from) {
      const between = source.slice(from, start);
      if (!allowedBetween.test(between)) return { message: `stray text '${excerpt(between)}'`, pos: from };
      for (const character of between.replace(/#[^\n]*/g, '')) {
        if (character === '(') opened++;
        else if (character === ')') opened--;
      }
    }
    from = Math.max(from, end);
  }
  return opened > 0 ? { message: `'(' is never closed`, pos: node.pos } : undefined;
}
