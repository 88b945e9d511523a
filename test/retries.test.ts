import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { mayRetry, strictWords, wordsOf } from './retries.ts';

const folder = new URL('.', import.meta.url).pathname;

test('tests of leaks, kills, isolation and security are never retried, by suite name or by id', () => {
  expect(mayRetry('/x/test/runs/leaks.test.ts', 'any')).toBe(false);
  expect(mayRetry('/x/test/api/sandboxes.test.ts', 'suite > SEC-2: nothing of another user')).toBe(false);
  expect(mayRetry('/x/test/api/sandboxes.test.ts', 'suite > SBX-2: start and stop')).toBe(true);
  const words = new Set(globSync('**/*.test.ts', { cwd: folder }).flatMap(wordsOf));
  expect([...strictWords].filter((word) => !words.has(word))).toEqual([]);
});

test('does not retry a strict test although the run allows retries', { retry: 2 }, ({ task }) => {
  expect(task.retry).toBe(2);
});

let tries = 0;
test.fails('SEC-2: does not retry a strict test although the test asks for retries', { retry: 2 }, () => {
  tries += 1;
  expect(tries).toBeGreaterThan(1);
});
