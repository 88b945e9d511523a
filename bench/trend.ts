/** Where something that is measured again and again is going, once it has settled. */
export interface Trend {
  /** By the line through the second half that is nearest to all of its samples. */
  readonly perThousand: number;
  /** Growth over the second half, as a share of its mean. */
  readonly share: number;
  readonly verdict: 'flat' | 'grows';
}

/** Less than that over the second half is noise. */
export const flatShare = 0.01;

/** `samples` are equally far apart, `every` runs each. */
export function trendOf(samples: readonly number[], every: number): Trend {
  const half = samples.slice(Math.floor(samples.length / 2));
  const middle = (half.length - 1) / 2;
  const mean = half.reduce((sum, value) => sum + value, 0) / half.length;
  let [together, spread] = [0, 0];
  for (const [at, value] of half.entries()) {
    together += (at - middle) * (value - mean);
    spread += (at - middle) ** 2;
  }
  const perSample = spread === 0 ? 0 : together / spread;
  const share = (perSample * (half.length - 1)) / mean;
  return { perThousand: (perSample / every) * 1000, share, verdict: share < flatShare ? 'flat' : 'grows' };
}
