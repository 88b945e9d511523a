import { parseMarkdown } from 'chat';

/** A Markdown token, as far as the renderer reads it. */
interface Piece {
  readonly type: string;
  readonly value?: string | undefined;
  readonly url?: string | undefined;
  readonly alt?: string | null | undefined;
  readonly ordered?: boolean | null | undefined;
  readonly start?: number | null | undefined;
  readonly checked?: boolean | null | undefined;
  readonly children?: readonly Piece[] | undefined;
  readonly position?: { readonly start: Place; readonly end: Place } | undefined;
}

interface Place {
  readonly offset?: number | undefined;
}

/**
 * Renders Markdown for WhatsApp. WhatsApp's marks only work at the edges of words and cannot be escaped, so text that
 * it would misread stays as written.
 */
export function whatsAppText(markdown: string): string {
  return block(parseMarkdown(markdown), markdown).trim();
}

function block(piece: Piece, source: string): string {
  const { type, value = '', children = [] } = piece;
  switch (type) {
    case 'root':
      return blocks(children, source);
    case 'heading':
      return marked('*', inline(children, source).replaceAll('*', ''));
    case 'blockquote':
      return lines(blocks(children, source), '> ', '> ');
    case 'code':
      return `\`\`\`\n${value}\n\`\`\``;
    case 'table':
      return `\`\`\`\n${children.map((row) => rowText(row, source)).join('\n')}\n\`\`\``;
    case 'list':
      return children.map((item, index) => itemText(item, bulletOf(piece, index), source)).join('\n');
    case 'thematicBreak':
      return '---';
    case 'html':
      return value;
    case 'definition':
      return '';
    default:
      return inline(children, source);
  }
}

function blocks(pieces: readonly Piece[], source: string): string {
  return pieces
    .map((piece) => block(piece, source))
    .filter((text) => text !== '')
    .join('\n\n');
}

function bulletOf({ ordered, start }: Piece, index: number): string {
  return ordered === true ? `${(start ?? 1) + index}. ` : '- ';
}

function itemText({ children = [], checked }: Piece, bullet: string, source: string): string {
  const box = checked === true ? '[x] ' : checked === false ? '[ ] ' : '';
  const text = children.map((each) => block(each, source)).join('\n');
  return lines(box + text, bullet, '  ');
}

function rowText({ children = [] }: Piece, source: string): string {
  return children.map((cell) => inline(cell.children ?? [], source)).join(' | ');
}

function lines(text: string, first: string, rest: string): string {
  return text
    .split('\n')
    .map((line, index) => (index === 0 ? first : rest) + line)
    .join('\n');
}

function inline(pieces: readonly Piece[], source: string): string {
  return pieces.map((piece) => inlineOne(piece, source)).join('');
}

const marks: Readonly<Record<string, string>> = { emphasis: '_', strong: '*', delete: '~' };

function inlineOne(piece: Piece, source: string): string {
  const { type, value = '', url = '', alt, children = [] } = piece;
  const mark = marks[type];
  if (mark !== undefined) {
    const text = inline(children, source);
    return isAtEdges(piece, source) ? marked(mark, text) : writtenAs(piece, source);
  }
  if (type === 'inlineCode') return `\`${value}\``;
  if (type === 'break') return '\n';
  if (type === 'link') return linkText(inline(children, source), url);
  if (type === 'image') return linkText(alt ?? '', url);
  return children.length > 0 ? inline(children, source) : value;
}

function linkText(text: string, url: string): string {
  const plain = url.replace(/^mailto:/, '');
  return text === '' || text === plain || text === url ? plain : `${text} (${url})`;
}

function marked(mark: string, text: string): string {
  return text.trim() === '' ? text : `${mark}${text}${mark}`;
}

function isAtEdges({ position }: Piece, source: string): boolean {
  const before = source[(position?.start.offset ?? 0) - 1] ?? ' ';
  const after = source[position?.end.offset ?? source.length] ?? ' ';
  return !/[\p{L}\p{N}]/u.test(before) && !/[\p{L}\p{N}]/u.test(after);
}

function writtenAs({ position }: Piece, source: string): string {
  return source.slice(position?.start.offset, position?.end.offset);
}
