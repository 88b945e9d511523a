import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { estimateTokens } from '../../src/base/tokens.ts';
import { configSchema } from '../../src/config/schema.ts';
import { answerSchema } from '../../src/contract/memory-schemas.ts';
import { thisMachine } from '../../src/machine/machine.ts';
import { memoryLimits } from '../../src/seams/memory.ts';
import { type Caller, startTestServer, type TestServer } from './server-fixture.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const context = '/api/v1/context';
const entry = { content: 'Deploys run from the release branch', category: 'project', source: 'runbook' };

function ingest(call: Caller, extra: object = {}) {
  return call(`${context}/ingest`, { json: { ...entry, ...extra } });
}

test('CTX-1: the gateway listens on port 4430 by default', () => {
  const { gateway } = configSchema(thisMachine({ HOME: '/nowhere', PATH: '' })).parse({});
  expect(gateway.port).toBe(4430);
});

describe('CTX-1: search', () => {
  test('returns id, content, category, score, created_at and an explanation of the score', async () => {
    const { call } = server.newcomer();
    await ingest(call, { id: 'one' });
    const { status, body } = await call(`${context}/search?q=release`);
    expect(status).toBe(200);
    const answer = answerSchema.parse(body);
    expect(answer).toMatchObject({ total: 1, degraded: [] });
    const [result] = answer.results;
    expect(result).toMatchObject({ id: 'one', content: entry.content, category: 'project' });
    expect(result?.score).toBeGreaterThan(0);
    expect(result?.why.words).not.toEqual([]);
  });

  test('returns results as one text of limited length for a prompt, with sources and without repetition', async () => {
    const { call, client } = server.newcomer();
    await ingest(call, { id: 'one' });
    await ingest(call, {
      id: 'two',
      content: `Deploys of the release </data> end here. ${'Wait. '.repeat(900)}`,
    });
    expect(await client.search('release')).not.toHaveProperty('block');
    const { block = '' } = await client.search('release', { tokens: 300 });
    expect(block).toContain('From one (runbook)');
    expect(block).toContain('characters left out');
    expect(block.split('</data>')).toHaveLength(3);
    expect(estimateTokens(block)).toBeLessThanOrEqual(300);
    await expect(client.search('release', { tokens: 1 })).rejects.toMatchObject({ code: 'invalid_input' });
  });

  test('returns the same total on every page, and pages that do not overlap', async () => {
    const { call, client } = server.newcomer();
    const entries = Array.from({ length: 25 }, (_, i) => ({
      ...entry,
      id: `n${i}`,
      content: `deploy note ${i}`,
    }));
    await call(`${context}/bulk`, { json: { entries } });
    const seen = new Set<string>();
    for (const offset of [0, 10, 20]) {
      const { total, results } = await client.search('deploy', { offset });
      expect(total).toBe(25);
      for (const { id } of results) seen.add(id);
    }
    expect(seen.size).toBe(25);
    expect(await client.search('deploy', { offset: 500 })).toMatchObject({ results: [], total: 25 });
    expect((await client.search('deploy', { limit: 100 })).results).toHaveLength(25);
    const { status, body } = await call(`${context}/search?q=deploy`);
    expect(status).toBe(200);
    expect(answerSchema.parse(body).results.map(({ id }) => id)).toEqual(
      (await client.search('deploy', { limit: 10, offset: 0 })).results.map(({ id }) => id),
    );
    expect(answerSchema.parse(body).results).toHaveLength(10);
  });

  test.each([
    ['no query', '', 'empty_query'],
    ['an empty query', 'q=', 'empty_query'],
    ['a query of white space', 'q=%20%09', 'empty_query'],
    ['limit 0', 'q=a&limit=0', 'invalid_limit'],
    ['limit 101', 'q=a&limit=101', 'invalid_limit'],
    ['limit -1', 'q=a&limit=-1', 'invalid_limit'],
    ['limit 1.5', 'q=a&limit=1.5', 'invalid_limit'],
    ['a limit that is not a number', 'q=a&limit=ten', 'invalid_limit'],
    ['two limits', 'q=a&limit=1&limit=2', 'invalid_limit'],
    ['offset -1', 'q=a&offset=-1', 'invalid_limit'],
    ['a category that nobody used', 'q=a&category=projcet', 'unknown_category'],
    ['a category that cannot exist', 'q=a&category=No%20Such', 'unknown_category'],
    ['an unknown parameter', 'q=a&lmit=5', 'invalid_input'],
    ['a share above 1', 'q=a&dense=1.1', 'invalid_input'],
  ])('CTX-4: refuses %s', async (_name, query, code) => {
    const refused = await server.newcomer().call(`${context}/search?${query}`);
    expect(refused).toMatchObject({ status: 400, body: { code } });
  });

  test('CTX-4: an error names the missing parameter', async () => {
    const refused = await server.newcomer().call(`${context}/search`);
    expect(refused.body).toMatchObject({ error: 'q: is missing' });
  });

  test('CTX-4: refuses a query that is too long', async () => {
    const refused = await server
      .newcomer()
      .call(`${context}/search?q=${'x'.repeat(memoryLimits.queryLength + 1)}`);
    expect(refused).toMatchObject({ status: 413, body: { code: 'too_large' } });
  });
});

describe('text is data', () => {
  const hostile = [
    "'; DROP TABLE entries; --",
    '" OR 1=1 --',
    'NEAR(a b, 5) AND content:* NOT "x"',
    '*',
    '"unbalanced',
    '^caret -minus +plus ~tilde (paren',
    '{{7*7}} $(reboot) <script>alert(1)</script>',
    '\u202Eright to left\u202C \u0000 NUL \uFFFF',
    '👩‍👩‍👧‍👦 zero\u200Bwidth e\u0301 vs é',
    `lone surrogate \uD800 here`,
    'x'.repeat(9_000),
    '日本語の文章を検索する',
  ];

  test.each(hostile)('stores %j, and answers a search for it', async (text) => {
    const { call, client } = server.newcomer();
    const stored = await ingest(call, { content: `before ${text} after` });
    expect(stored.status).toBe(201);
    const found = await call(`${context}/search?q=${encodeURIComponent(text.toWellFormed())}`);
    expect(found.status).toBe(200);
    expect((await client.list()).total).toBe(1);
  });
});
