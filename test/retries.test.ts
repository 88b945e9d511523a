import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { mayRetry, strictWords, wordsOf } from './retries.ts';

const folder = new URL('.', import.meta.url).pathname;

test('tests of leaks, kills, isolation and security have one try, by their suite or by their promise', () => {
  expect(mayRetry('/x/test/runs/leaks.test.ts', 'any')).toBe(false);
  expect(mayRetry('/x/test/api/sandboxes.test.ts', 'suite > SEC-2: nothing of another user')).toBe(false);
  expect(mayRetry('/x/test/api/sandboxes.test.ts', 'suite > SBX-2: start and stop')).toBe(true);
  const words = new Set(globSync('**/*.test.ts', { cwd: folder }).flatMap(wordsOf));
  expect([...strictWords].filter((word) => !words.has(word))).toEqual([]);
});

test('a test of one try is not tried again, though the run allows it', { retry: 2 }, ({ task }) => {
  expect(task.retry).toBe(2);
});

let tries = 0;
test.fails('SEC-2: a test of one try is not tried again, though it asks for more', { retry: 2 }, () => {
  tries += 1;
  expect(tries).toBeGreaterThan(1);
});
