import { expect, test } from 'vitest';
import { createRateLimiter } from '../../src/base/rate-limit.ts';

test('allows a burst, then one request per interval', () => {
  let nowMs = 0;
  const limiter = createRateLimiter({ perMinute: 60, burst: 3 }, () => nowMs);
  expect([1, 2, 3].map(() => limiter.take('a'))).toEqual([0, 0, 0]);
  expect(limiter.take('a')).toBe(1000);
  nowMs = 400;
  expect(limiter.take('a')).toBe(600);
  nowMs = 1000;
  expect(limiter.take('a')).toBe(0);
  expect(limiter.take('a')).toBe(1000);
  expect(limiter.take('b')).toBe(0);
});

test('allows at most the burst after a long pause', () => {
  let nowMs = 0;
  const limiter = createRateLimiter({ perMinute: 60, burst: 2 }, () => nowMs);
  limiter.take('a');
  nowMs = 3_600_000;
  expect([1, 2, 3].map(() => limiter.take('a'))).toEqual([0, 0, 1000]);
});

test('keeps a limited number of callers in memory, and still limits the busy one', () => {
  const limiter = createRateLimiter({ perMinute: 1, burst: 1 }, () => 0);
  limiter.take('busy');
  for (let i = 0; i < 50_000; i += 1) {
    limiter.take(`caller ${i}`);
    if (i % 5000 === 0) expect(limiter.take('busy')).toBeGreaterThan(0);
  }
  // The first one is forgotten by now.
  expect(limiter.take('caller 0')).toBe(0);
});
