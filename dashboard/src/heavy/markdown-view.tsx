/** Markdown as elements of React: the words of others never become HTML, so nothing in them can run. */
import { lexer, type MarkedToken, type Token, type Tokens } from 'marked';
import { Fragment, type ReactNode, useMemo } from 'react';
import { linesText, nameText } from '../shown.ts';

/** Beyond these it is shown as it was written: laying it out would take long. */
const mostCharacters = 200_000;
const deepest = 30;

export default function MarkdownView({ source }: { readonly source: string }) {
  const tokens = useMemo(() => tokensOf(source), [source]);
  if (tokens === undefined) return <p className="break-words whitespace-pre-wrap">{linesText(source)}</p>;
  return <div className="markdown">{rendered(tokens, 0)}</div>;
}

/** Undefined for what is too long, or nested so deeply that it cannot be read. */
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
      return <pre className="output">{linesText(token.text)}</pre>;
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
