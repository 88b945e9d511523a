/**
 * Splits Markdown into parts of at most `size` characters (100 or more), at the end of a paragraph or line if
 * possible. A code block that is cut is closed in one part and opened again in the next.
 */
export function splitText(text: string, longest: number): readonly string[] {
  const parts: string[] = [];
  let rest = text;
  while (rest.length > longest) {
    const cut = placeToCut(rest, longest - fenceRoom);
    const head = rest.slice(0, cut).trimEnd();
    const fence = openFence(head);
    parts.push(fence === undefined ? head : `${head}\n${fence.mark}`);
    const tail = rest.slice(cut).replace(/^\n+/, '');
    rest = fence === undefined ? tail : `${fence.line}\n${tail}`;
  }
  if (rest.trim() !== '' || parts.length === 0) parts.push(rest);
  return parts;
}

/** Space in each part for the fence that closes its code block. The line that opens the block again in the next part must not be longer. */
const fenceRoom = 24;
const longestMark = 8;

/** A part is at least half full, so many short paragraphs do not make many parts. */
function placeToCut(text: string, longest: number): number {
  const least = Math.floor(longest / 2);
  for (const boundary of ['\n\n', '\n', ' ']) {
    const at = text.lastIndexOf(boundary, longest);
    if (at >= least) return at;
  }
  // Do not cut inside a surrogate pair.
  const code = text.charCodeAt(longest - 1);
  return code >= 0xd800 && code <= 0xdbff ? longest - 1 : longest;
}

function openFence(text: string): { readonly mark: string; readonly line: string } | undefined {
  let open: { mark: string; line: string } | undefined;
  for (const line of text.split('\n')) {
    const [, mark, language = ''] = /^\s{0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/.exec(line) ?? [];
    if (mark === undefined || mark.length > longestMark) continue;
    if (open === undefined) open = { mark, line: mark + language.slice(0, fenceRoom - longestMark) };
    else if (mark.startsWith(open.mark) && line.trim() === mark) open = undefined;
  }
  return open;
}
