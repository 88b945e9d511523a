import type { Result } from '../seams/memory.ts';

/** With fewer results there is no telling which of them stands out. */
const fewest = 6;
const lead = 0.05;

/**
 * Leaves out what was found only because something had to be: a search by meaning ranks everything. A result counts
 * when it is an exact hit, or when its cosine is clearly above the median of what was found with it. The lead was chosen
 * on HumanEval: nineteen of twenty reworded problems lead by more than 0.076, three of four best strangers by less than
 * 0.045.
 */
export function relevant(results: readonly Result[]): readonly Result[] {
  const cosines = results.flatMap(({ why }) => why.dense?.raw ?? []).sort((a, b) => a - b);
  const median = cosines[Math.floor(cosines.length / 2)];
  if (median === undefined || cosines.length < fewest) return results;
  return results.filter(
    ({ why }) => why.exact !== null || why.dense === null || why.dense.raw - median >= lead,
  );
}
