/**
 * Approximate number of tokens of a text, rather too high than too low. Every model cuts text in its own way; this
 * keeps prompts within limits and is not for billing.
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
