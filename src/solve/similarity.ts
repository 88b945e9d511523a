/** The share of words that two texts have in common, 0 to 1. */
export function similarity(a: string, b: string): number {
  const [wordsA, wordsB] = [new Set(a.match(/\w+/g)), new Set(b.match(/\w+/g))];
  const common = [...wordsA].filter((word) => wordsB.has(word)).length;
  const all = new Set([...wordsA, ...wordsB]).size;
  return all === 0 ? 1 : common / all;
}
