/** Markdown as elements of React: foreign words never become HTML, so nothing in them can run. */
import { lexer, type MarkedToken, type Token, type Tokens } from 'marked';
import { Fragment, type ReactNode, useMemo, useRef } from 'react';
import { linesText, nameText } from '../shown.ts';
import { CopyButton } from '../ui/copy.tsx';
import HighlightedCode from './highlighted-code.tsx';

/** Beyond these it is shown as it was written: laying it out would take long. */
const mostCharacters = 200_000;
const deepest = 30;

interface Shown {
  readonly source: string;
  /** More of it comes: only its last blocks are read again. */
  readonly isGrowing: boolean;
}

export default function MarkdownView({ source, isGrowing }: Shown) {
  const finished = useRef<Finished>(nothing);
  const tokens = useMemo(() => {
    if (!isGrowing) return tokensOf(source);
    finished.current = grown(source, finished.current);
    return finished.current.tokens;
  }, [source, isGrowing]);
  if (tokens === undefined) return <p className="break-words whitespace-pre-wrap">{linesText(source)}</p>;
  return <div className="prose">{rendered(tokens, 0)}</div>;
}

interface Finished {
  /** The part of the text whose blocks cannot change. */
  readonly length: number;
  readonly blocks: readonly Token[];
  /** All blocks, with those that may still change. */
  readonly tokens: readonly Token[] | undefined;
}

const nothing: Finished = { length: 0, blocks: [], tokens: [] };
/** Blocks at the end that more text may still change. */
const openBlocks = 2;

/** Reads only the text behind the finished blocks, so that a long answer costs no more for each of its words. */
function grown(source: string, { length, blocks }: Finished): Finished {
  const tail = tokensOf(source.slice(length));
  if (tail === undefined || source.length > mostCharacters) return { length, blocks, tokens: undefined };
  const done = tail.slice(0, -openBlocks);
  return {
    length: length + done.reduce((sum, { raw }) => sum + raw.length, 0),
    blocks: [...blocks, ...done],
    tokens: [...blocks, ...tail],
  };
}

/** Undefined for text that is too long, or nested so deeply that it cannot be read. */
function tokensOf(source: string): readonly Token[] | undefined {
  if (source.length > mostCharacters) return undefined;
  try {
    return lexer(source);
  } catch {
    return undefined;
  }
}

function rendered(tokens: readonly Token[] = [], depth: number): ReactNode {
  return tokens.map((token, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text do not move.
    <Fragment key={at}>{element(token, depth + 1)}</Fragment>
  ));
}

function CodeBlock({ code, language }: { readonly code: string; readonly language: string }) {
  return (
    <div className="overflow-hidden rounded-card border border-line bg-sunken">
      <div className="flex min-h-8 items-center justify-between border-b border-line pl-3 text-sm text-muted">
        {nameText(language)}
        <CopyButton value={code} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls has to be reached by keyboard. */}
      <pre className="overflow-x-auto p-3" tabIndex={0}>
        <HighlightedCode code={code} language={language} />
      </pre>
    </div>
  );
}

const headings = ['h3', 'h4', 'h5', 'h6'] as const;

function element(given: Token, depth: number): ReactNode {
  if (depth > deepest) return linesText(given.raw);
  const token = given as MarkedToken;
  switch (token.type) {
    case 'space':
    case 'def':
      return null;
    case 'heading': {
      // The page and its cards have the first two.
      const Heading = headings[Math.min(token.depth, headings.length) - 1] ?? 'h6';
      return <Heading>{rendered(token.tokens, depth)}</Heading>;
    }
    case 'paragraph':
      return <p>{rendered(token.tokens, depth)}</p>;
    case 'strong':
      return <strong>{rendered(token.tokens, depth)}</strong>;
    case 'em':
      return <em>{rendered(token.tokens, depth)}</em>;
    case 'del':
      return <del>{rendered(token.tokens, depth)}</del>;
    case 'codespan':
      return <code>{nameText(token.text)}</code>;
    case 'code':
      return <CodeBlock code={linesText(token.text)} language={token.lang?.split(/\s/)[0] ?? ''} />;
    case 'blockquote':
      return <blockquote>{rendered(token.tokens, depth)}</blockquote>;
    case 'list':
      return list(token, depth);
    case 'table':
      return table(token, depth);
    case 'link':
      return link(token.href, rendered(token.tokens, depth));
    case 'image':
      // Fetching it would tell another host that somebody reads this.
      return link(token.href, nameText(token.text || token.href));
    case 'hr':
      return <hr className="border-line" />;
    case 'br':
      return <br />;
    case 'text':
      return 'tokens' in token && token.tokens ? rendered(token.tokens, depth) : words(token.text);
    case 'escape':
      return words(token.text);
    default:
      return linesText(given.raw);
  }
}

function list({ ordered, start, items }: Tokens.List, depth: number): ReactNode {
  const children = items.map(({ task, checked, tokens }, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text do not move.
    <li key={at}>
      {task && (checked ? '☑ ' : '☐ ')}
      {rendered(
        tokens.filter(({ type }) => type !== 'checkbox'),
        depth,
      )}
    </li>
  ));
  return ordered ? <ol start={Number(start) || 1}>{children}</ol> : <ul>{children}</ul>;
}

function table({ header, rows }: Tokens.Table, depth: number): ReactNode {
  return (
    <div className="scroll">
      <table className="list">
        <thead>
          <tr>
            {header.map(({ tokens }, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text do not move.
              <th key={at}>{rendered(tokens, depth)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text do not move.
            <tr key={at}>
              {row.map(({ tokens }, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text do not move.
                <td key={column}>{rendered(tokens, depth)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Only addresses that lead to another page or to a mail; everything else stays text. */
function link(href: string, shown: ReactNode): ReactNode {
  const { protocol } = URL.parse(href) ?? {};
  if (protocol !== 'https:' && protocol !== 'http:' && protocol !== 'mailto:') return <span>{shown}</span>;
  return (
    <a href={href} title={nameText(href)} target="_blank" rel="noopener noreferrer">
      {shown}
    </a>
  );
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

function words(text: string): string {
  return linesText(text.replace(/&(amp|lt|gt|quot|#39);/g, (whole, name) => entities[name] ?? whole));
}
