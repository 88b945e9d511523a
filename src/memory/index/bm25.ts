/** BM25 with a weak length norm, because memories are short and a long one is not less relevant. */
export const K1 = 0.9;
const B = 0.4;
/** Weight of words around an entry, relative to its own words. */
export const NEAR_WEIGHT = 0.5;

export function idf(entries: number, withWord: number): number {
  return Math.log(1 + (entries - withWord + 0.5) / (withWord + 0.5));
}

/** Score of `count` occurrences in an entry of `length` words; at most `K1 + 1`. */
export function saturation(count: number, length: number, averageLength: number): number {
  return (count * (K1 + 1)) / (count + K1 * (1 - B + (B * length) / averageLength));
}
