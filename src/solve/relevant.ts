import type { Result } from '../seams/memory.ts';

/** With fewer results it is impossible to say which one stands out. */
const fewest = 6;
const lead = 0.05;

/**
 * Removes results that are only the best of a bad list: a search by meaning ranks everything. A result counts if it
 * is an exact match, or if its cosine is clearly above the median of the list. The required lead was chosen on
 * HumanEval: nineteen of twenty reworded problems lead by more than 0.076, three of four best unrelated problems by
 * less than 0.045.
 */
export function relevant(results: readonly Result[]): readonly Result[] {
  const cosines = results.flatMap(({ why }) => why.dense?.raw ?? []).sort((a, b) => a - b);
  const median = cosines[Math.floor(cosines.length / 2)];
  if (median === undefined || cosines.length < fewest) return results;
  return results.filter(
    ({ why }) => why.exact !== null || why.dense === null || why.dense.raw - median >= lead,
  );
}
