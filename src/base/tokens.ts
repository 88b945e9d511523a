/**
 * About how many tokens a model makes of a text, rather too many than too few. Every model cuts text in its own way;
 * this is for keeping a prompt within bounds, not for bills.
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  for (const [piece] of text.matchAll(/[a-z]+|\d+|\s+|[^\s]/giu))
    tokens += /^[a-z]/i.test(piece)
      ? Math.ceil(piece.length / 4)
      : /^\d/.test(piece)
        ? Math.ceil(piece.length / 2)
        : 1;
  return tokens;
}
