import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SearchOptions } from '../../src/client/memory.ts';
import { memoryLimits } from '../../src/seams/memory.ts';
import { type Caller, collect, startTestServer, type TestServer } from './server-fixture.ts';

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

describe('CTX-2: ingest', () => {
  test('answers 201 with an id under which the entry can be read, with its source and tags', async () => {
    const { call, client } = server.newcomer();
    expect((await ingest(call)).status).toBe(201);
    const stored = await client.ingest({
      ...entry,
      content: 'Deploys need a review',
      tags: ['deploy', 'git'],
    });
    expect(stored).toMatchObject({ outcome: 'created', version: 1, scrubbed: 0 });
    expect(await client.get(stored.id)).toMatchObject({
      content: 'Deploys need a review',
      category: 'project',
      tags: ['deploy', 'git'],
      sources: ['runbook'],
    });
  });

  test('source and tags filter a search', async () => {
    const { call, client } = server.newcomer();
    await ingest(call, { id: 'a', source: 'wiki', tags: ['x', 'y'] });
    await ingest(call, { id: 'b', source: 'chat', tags: ['x'] });
    const idsOf = async (filter: SearchOptions) =>
      (await client.search('deploys', filter)).results.map(({ id }) => id).sort();
    expect(await idsOf({ source: 'wiki' })).toEqual(['a']);
    expect(await idsOf({ tags: ['x', 'y'] })).toEqual(['a']);
    expect(await idsOf({ tags: ['x'] })).toEqual(['a', 'b']);
  });

  test('the same content again is merged, not doubled', async () => {
    const { client } = server.newcomer();
    const first = await client.ingest(entry);
    const second = await client.ingest({ ...entry, source: 'chat' });
    expect(second).toMatchObject({ id: first.id, outcome: 'merged' });
    expect(await client.list()).toMatchObject({ total: 1, entries: [{ sources: ['runbook', 'chat'] }] });
  });

  test('a secret in the content is scrubbed and counted', async () => {
    const { client } = server.newcomer();
    const stored = await client.ingest({
      ...entry,
      content: `The token is ghp_${'a1B2'.repeat(9)}, keep it`,
    });
    expect(stored.scrubbed).toBe(1);
    expect((await client.get(stored.id)).content).not.toContain('ghp_a1B2');
  });

  test.each([
    ['empty content', { content: '' }, 400, 'empty_content'],
    ['white space', { content: ' \n\t ' }, 400, 'empty_content'],
    ['content over the limit', { content: 'x'.repeat(memoryLimits.contentLength + 1) }, 413, 'too_large'],
    ['no content', { content: undefined }, 400, 'invalid_input'],
    ['content that is a number', { content: 7 }, 400, 'invalid_input'],
    ['no source', { source: undefined }, 400, 'invalid_input'],
    ['no category', { category: undefined }, 400, 'invalid_input'],
    ['a category with a slash', { category: 'a/b' }, 400, 'invalid_input'],
    ['an empty tag', { tags: [''] }, 400, 'invalid_input'],
    ['an unknown field', { catgory: 'core' }, 400, 'invalid_input'],
    ['an id that is a path of its own', { id: 'categories' }, 400, 'invalid_input'],
    ['an id with NUL', { id: 'a\0b' }, 400, 'invalid_input'],
    ['an invalid date', { valid_until: 'tomorrow' }, 400, 'invalid_input'],
    ['superseding what is not there', { supersedes: ['nothing'] }, 404, 'entry_not_found'],
  ])('CTX-4: refuses %s', async (_name, extra, status, code) => {
    const { call, client } = server.newcomer();
    const refused = await ingest(call, extra);
    expect(refused.body).toMatchObject({ code, error: expect.any(String), hint: expect.any(String) });
    expect(refused.status).toBe(status);
    expect((await client.list()).total).toBe(0);
  });

  test('refuses broken JSON, and a body of another type', async () => {
    const { call } = server.newcomer();
    const broken = await call(`${context}/ingest`, {
      body: '{"content":',
      headers: { 'content-type': 'application/json' },
    });
    expect(broken).toMatchObject({ status: 400, body: { code: 'invalid_input' } });
    const typed = await call(`${context}/ingest`, {
      body: 'hello',
      headers: { 'content-type': 'text/plain' },
    });
    expect(typed).toMatchObject({ status: 415, body: { code: 'unsupported_type' } });
  });
});

describe('CTX-3: one entry, and categories', () => {
  test.each([
    ['a/b/c', 'a/b/c'],
    ['a/b', 'a%2Fb'],
    ['with space & ?query=1#hash', encodeURIComponent('with space & ?query=1#hash')],
    ['100%', '100%25'],
    ['%2F', '%252F'],
    ['ünïcödé/日本語/🪨', encodeURIComponent('ünïcödé/日本語/🪨')],
    ['ünïcödé', 'ünïcödé'],
    ['a/../b', 'a%2F..%2Fb'],
    ['trailing/', 'trailing/'],
    ['two\nlines', 'two%0Alines'],
    ['search/deep', 'search/deep'],
    ["'; DROP TABLE entries; --", encodeURIComponent("'; DROP TABLE entries; --")],
  ])('the id %s is written, read and forgotten as %s', async (id, path) => {
    const { call, client } = server.newcomer();
    expect(await call(`${context}/${path}`, { method: 'PUT', json: entry })).toMatchObject({
      status: 201,
      body: { id },
    });
    expect(await call(`${context}/${path}`)).toMatchObject({ status: 200, body: { id } });
    expect((await client.get(id)).id).toBe(id);
    expect((await call(`${context}/${path}`, { method: 'DELETE' })).status).toBe(204);
    expect(await call(`${context}/${path}`)).toMatchObject({
      status: 404,
      body: { code: 'entry_not_found' },
    });
    expect(await call(`${context}/${path}`, { method: 'DELETE' })).toMatchObject({ status: 404 });
  });

  test('PUT keeps created_at and the earlier versions', async () => {
    const { call, client } = server.newcomer();
    const first = await call(`${context}/k`, { method: 'PUT', json: entry });
    const before = await client.get('k');
    const second = await call(`${context}/k`, {
      method: 'PUT',
      json: { ...entry, content: 'Deploys run from main' },
    });
    expect([first.status, second.status]).toEqual([201, 200]);
    expect(await client.get('k', { versions: true })).toMatchObject({
      version: 2,
      content: 'Deploys run from main',
      created_at: before.created_at,
      versions: [{ version: 1, content: entry.content }],
    });
  });

  test('PUT under a reserved name is refused', async () => {
    const refused = await server.newcomer().call(`${context}/search`, { method: 'PUT', json: entry });
    expect(refused).toMatchObject({ status: 400, body: { code: 'invalid_input' } });
  });

  test('categories returns the exact count of each, including custom ones', async () => {
    const { call, client } = server.newcomer();
    await ingest(call, { content: 'one' });
    await ingest(call, { content: 'two' });
    await ingest(call, { content: 'three', category: 'my-own' });
    const { total, categories } = await client.categories();
    expect(total).toBe(3);
    expect(categories).toContainEqual({ name: 'project', count: 2 });
    expect(categories).toContainEqual({ name: 'my-own', count: 1 });
    expect(categories).toContainEqual({ name: 'core', count: 0 });
  });

  test('list pages through everything, newest first, by category', async () => {
    const { call, client } = server.newcomer();
    for (let i = 0; i < 12; i += 1) await ingest(call, { id: `n${i}`, content: `note ${i}` });
    await ingest(call, { id: 'other', category: 'core' });
    const first = await client.list({ category: 'project' });
    const second = await client.list({ category: 'project', offset: 10 });
    expect(first.total).toBe(12);
    expect(first.entries[0]?.id).toBe('n11');
    const ids = [...first.entries, ...second.entries].map(({ id }) => id);
    expect(new Set(ids).size).toBe(12);
    expect(await call(`${context}?category=typo`)).toMatchObject({
      status: 400,
      body: { code: 'unknown_category' },
    });
    expect(await call(`${context}?limit=0`)).toMatchObject({ status: 400, body: { code: 'invalid_limit' } });
  });
});

describe('CTX-2: bulk', () => {
  test('stores all, in order', async () => {
    const { client } = server.newcomer();
    const entries = ['c', 'a', 'b'].map((id) => ({ ...entry, id, content: `note ${id}` }));
    expect((await client.bulk(entries)).map(({ id }) => id)).toEqual(['c', 'a', 'b']);
  });

  test('stores no entry of a batch when one entry is refused', async () => {
    const { call, client } = server.newcomer();
    const entries = [entry, { ...entry, content: '   ' }];
    expect(await call(`${context}/bulk`, { json: { entries } })).toMatchObject({
      status: 400,
      body: { code: 'empty_content' },
    });
    expect((await client.list()).total).toBe(0);
  });

  test('refuses an empty batch and a batch above the limit', async () => {
    const { call } = server.newcomer();
    expect(await call(`${context}/bulk`, { json: { entries: [] } })).toMatchObject({ status: 400 });
    const entries = Array.from({ length: memoryLimits.entriesPerStore + 1 }, () => entry);
    expect(await call(`${context}/bulk`, { json: { entries } })).toMatchObject({
      status: 413,
      body: { code: 'too_large' },
    });
  });

  test('streams its progress, and a refusal as the last event', async () => {
    const { client } = server.newcomer();
    const entries = Array.from({ length: 250 }, (_, i) => ({
      ...entry,
      id: `n${i}`,
      content: `note number ${i}`,
    }));
    const events = await collect(client.bulkEvents(entries));
    expect(events.map((event) => ('done' in event ? [event.type, event.done] : event))).toEqual([
      ['progress', 100],
      ['progress', 200],
      ['progress', 250],
      ['end', 250],
    ]);
    const late = entries.with(240, { ...entry, content: ' ', id: 'blank' });
    const cut = await collect(server.newcomer().client.bulkEvents(late));
    expect(cut.at(-1)).toMatchObject({ type: 'problem', code: 'empty_content' });
  });
});
