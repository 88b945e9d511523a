/** Characters of one result of a tool. */
const longestOutput = 30_000;

/** Both ends of a long output. */
export function bothEnds(text: string): string {
  if (text.length <= longestOutput) return text;
  const half = longestOutput / 2;
  return `${text.slice(0, half)}\n[${text.length - longestOutput} characters left out]\n${text.slice(-half)}`;
}
