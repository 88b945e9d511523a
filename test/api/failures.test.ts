import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import type { MemoryStore } from '../../src/seams/memory.ts';
import { qdrantMissing, startQdrant } from '../memory/qdrant-server.ts';
import { openMemoryWithoutMeaning, openTestMemory, overriding } from './memory-fixture.ts';
import { startTestServer } from './server-fixture.ts';

const context = '/api/v1/context';
const entry = { content: 'a fact', category: 'core', source: 'test' };

describe('CTX-4: failures inside', () => {
  test('OPS-4: memory that is down is a 503 with its code, and never an empty answer', async () => {
    await using server = await startTestServer();
    const call = server.caller('alice');
    await call(`${context}/k`, { method: 'PUT', json: entry });
    await server.memory.stop();
    for (const path of [`${context}/search?q=fact`, context, `${context}/k`, `${context}/categories`]) {
      const refused = await call(path);
      expect(refused).toMatchObject({
        status: 503,
        body: { code: 'memory_down', error: 'Memory does not answer' },
      });
    }
    expect(await call(`${context}/ingest`, { json: entry })).toMatchObject({ status: 503 });
    expect(await call('/ready')).toMatchObject({ status: 503, body: { status: 'down' } });
    expect((await call('/health')).status).toBe(200);
  });

  test('MEM-4: answers from one half while the other is down, and marks the answer as incomplete', async () => {
    await using server = await startTestServer({ openMemory: openMemoryWithoutMeaning });
    const call = server.caller('alice');
    expect(await call(`${context}/ingest`, { json: entry })).toMatchObject({
      status: 201,
      body: { indexed: false },
    });
    const answer = await call(`${context}/search?q=fact`);
    expect(answer).toMatchObject({ status: 200, body: { degraded: ['dense'], total: 1 } });
    expect(answer.text).not.toContain('ECONNREFUSED');
    const ready = await call('/ready');
    expect(ready).toMatchObject({ status: 200, body: { status: 'degraded' } });
    expect(ready.body).toMatchObject({
      parts: expect.arrayContaining([{ name: 'embedder', state: 'down' }]),
    });
    expect(ready.text).not.toContain('ECONNREFUSED');
  });

  test.skipIf(qdrantMissing !== null)(
    'MEM-4, CTX-4: a real Qdrant that stops is `degraded`, and with the words gone too a 503 with its code',
    async () => {
      await using qdrant = await startQdrant();
      let file = '';
      await using server = await startTestServer({
        openMemory: (dir) => {
          file = join(dir, 'memory.db');
          return openTestMemory(dir, { url: qdrant.url, timeoutMs: 60_000 });
        },
      });
      const call = server.caller('alice');
      await call(`${context}/k`, { method: 'PUT', json: entry });
      await server.memory.settled();
      expect(await call(`${context}/search?q=fact`)).toMatchObject({
        status: 200,
        body: { total: 1, degraded: [] },
      });

      await qdrant.kill();
      expect(await call(`${context}/search?q=fact`)).toMatchObject({
        status: 200,
        body: { total: 1, results: [{ id: 'k' }], degraded: ['dense', 'keyword'] },
      });
      expect(await call('/ready')).toMatchObject({ status: 200, body: { status: 'degraded' } });
      expect(await call(`${context}/ingest`, { json: { ...entry, content: 'another fact' } })).toMatchObject({
        status: 201,
        body: { indexed: false },
      });

      using vandal = new DatabaseSync(file);
      vandal.exec('DROP TABLE word_vocabulary; DROP TABLE word_index');
      const refused = await call(`${context}/search?q=fact`);
      expect(refused).toMatchObject({
        status: 503,
        body: { code: 'memory_down', error: 'Memory does not answer' },
      });
      expect(refused.text).not.toMatch(/127\.0\.0\.1|word_index|memory\.db/);
    },
    240_000,
  );

  test('answers an internal defect with a 500 without details; the log has it under the id of the request', async () => {
    const secret = 'ENOENT /srv/geode/private.db password=hunter2';
    await using server = await startTestServer({
      openMemory: async (dir) => broken(await openTestMemory(dir), secret),
    });
    const reply = await server.caller('alice')(context);
    expect(reply).toMatchObject({ status: 500, body: { code: 'internal' } });
    expect(reply.text).not.toMatch(/ENOENT|private|hunter2|at .*\.ts/);
    const id = reply.headers.get('x-request-id') ?? 'none';
    const [line] = server.log.filter((each) => each.includes(id));
    expect(line).toContain('ENOENT');
  });

  test('a defect during a stream is its last event, without internal details', async () => {
    await using server = await startTestServer({
      openMemory: async (dir) => broken(await openTestMemory(dir), 'private'),
    });
    const { status, text } = await server.caller('alice')(`${context}/bulk`, {
      json: { entries: [entry] },
      headers: { accept: 'text/event-stream' },
    });
    expect(status).toBe(201);
    expect(text).toMatch(/^event: problem\ndata: .*"code":"internal"/);
    expect(text).not.toContain('private');
  });
});

/** A store with a defect that no code of the catalogue names. */
function broken(store: MemoryStore, message: string): MemoryStore {
  const fail = () => Promise.reject(new Error(message));
  return overriding(store, {
    in: (namespace) => overriding(store.in(namespace), { list: fail, storeMany: fail }),
  });
}
