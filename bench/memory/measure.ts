/** Times and ranks. */

export interface Timing {
  readonly p50: number;
  readonly p99: number;
  /** How many measurements these come from. */
  readonly samples: number;
}

export function timing(milliseconds: readonly number[]): Timing {
  const sorted = milliseconds.toSorted((a, b) => a - b);
  const at = (share: number) =>
    round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
  return { p50: at(0.5), p99: at(0.99), samples: sorted.length };
}

/** The round in the middle by its p50: neither the quietest nor the loudest decides. */
export function medianRound(rounds: readonly Timing[]): Timing {
  return rounds.toSorted((a, b) => a.p50 - b.p50)[Math.floor((rounds.length - 1) / 2)] ?? timing([]);
}

export async function timed(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Normalised discounted cumulative gain of the first ten. */
export function ndcg10(found: readonly string[], relevant: ReadonlySet<string>): number {
  const gain = (rank: number) => 1 / Math.log2(rank + 2);
  const got = found.slice(0, 10).reduce((sum, id, rank) => sum + (relevant.has(id) ? gain(rank) : 0), 0);
  const best = Array.from({ length: Math.min(10, relevant.size) }, (_, rank) => gain(rank)).reduce(
    (a, b) => a + b,
    0,
  );
  return got / best;
}

export function round(value: number, digits = 3): number {
  return Number(value.toFixed(digits));
}

/** The same numbers in every run. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
