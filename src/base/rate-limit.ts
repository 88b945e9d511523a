/** A token bucket for each caller: `burst` requests at once, `perMinute` on average. */
export interface RateLimit {
  readonly perMinute: number;
  readonly burst: number;
}

export interface RateLimiter {
  /** Takes one token. Returns the milliseconds to wait, or 0 if a token was taken. */
  take(caller: string): number;
}

interface Bucket {
  tokens: number;
  atMs: number;
}

export function createRateLimiter(
  limit: RateLimit,
  now: () => number = () => performance.now(),
): RateLimiter {
  const buckets = new Map<string, Bucket>();
  const perMs = limit.perMinute / 60_000;

  return {
    take(caller) {
      const atMs = now();
      const last = buckets.get(caller) ?? { tokens: limit.burst, atMs };
      const tokens = Math.min(limit.burst, last.tokens + (atMs - last.atMs) * perMs);
      // The map is in order of last use, so the first entry is dropped first.
      buckets.delete(caller);
      buckets.set(caller, { tokens: tokens >= 1 ? tokens - 1 : tokens, atMs });
      const [oldest] = buckets.keys();
      if (buckets.size > maxBuckets && oldest !== undefined) buckets.delete(oldest);
      return tokens >= 1 ? 0 : Math.ceil((1 - tokens) / perMs);
    },
  };
}

const maxBuckets = 10_000;
