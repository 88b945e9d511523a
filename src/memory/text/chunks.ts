/**
 * Cuts long text into pieces that fit the embedder. A cut is made at the best boundary near its end: a blank line,
 * else a line, else a sentence, else a space. Neighbours overlap so that nothing across a cut is lost.
 */
const OVERLAP_SHARE = 0.1;
const boundaries = [/\n\s*\n/g, /\n/g, /[.!?。！？]\s/g, /\s/g];

export function chunks(text: string, length: number): string[] {
  const pieces: string[] = [];
  let start = 0;
  while (text.length - start > length) {
    const end = start + lastCut(text.slice(start, start + length));
    pieces.push(text.slice(start, end));
    start = wholeCharacter(text, Math.max(end - Math.floor(length * OVERLAP_SHARE), start + 1));
  }
  pieces.push(text.slice(start));
  return pieces.map((piece) => piece.trim()).filter((piece) => piece.length > 0);
}

function lastCut(window: string): number {
  for (const boundary of boundaries) {
    const cut = [...window.matchAll(boundary)].at(-1);
    if (cut !== undefined && cut.index > window.length / 2) return cut.index + cut[0].length;
  }
  return wholeCharacter(window, window.length);
}

/** Never inside a surrogate pair. */
function wholeCharacter(text: string, at: number): number {
  const before = text.charCodeAt(at - 1);
  return before >= 0xd800 && before <= 0xdbff ? at - 1 : at;
}
