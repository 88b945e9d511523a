/**
 * Contributions of a query to every four signs of a row, for all 16 combinations. Adding one entry of each table
 * gives the product of the exact query with the signs. Comparing signs with signs would need eight times as many rows
 * for the same recall.
 */

/** Four of them fit into a byte. */
const LARGEST = 63;
/** Upper limit of the sum of all entries: 16 bits. */
const LARGEST_SUM = 65_535;
const SIGNS = 4;
const WAYS = 2 ** SIGNS;

/** Fills `tables`. The product is `base` plus `step` times the sum of the entries looked up. */
export function signTables(
  query: Float32Array,
  centre: Float32Array,
  tables: Uint8Array,
): { step: number; base: number } {
  const rest = (i: number) => (query[i] ?? 0) - (centre[i] ?? 0);
  const count = tables.length / WAYS;
  let base = 0;
  let widest = 0;
  for (let table = 0; table < count; table += 1) {
    let reach = 0;
    for (let i = 0; i < SIGNS; i += 1) reach += Math.abs(rest(table * SIGNS + i));
    base -= reach;
    widest = Math.max(widest, reach * 2);
  }
  const step = (widest || 1) / Math.min(LARGEST, Math.floor(LARGEST_SUM / count));
  for (let table = 0; table < count; table += 1) {
    for (let way = 0; way < WAYS; way += 1) {
      // Above the lowest sum, where every dimension of the query meets the opposite sign.
      let above = 0;
      for (let i = 0; i < SIGNS; i += 1) {
        const value = rest(table * SIGNS + i);
        if (way & (1 << i) ? value > 0 : value < 0) above += 2 * Math.abs(value);
      }
      tables[table * WAYS + way] = Math.round(above / step);
    }
  }
  return { step, base };
}
