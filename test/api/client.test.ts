import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { approvalChapter } from '../../src/approvals/approval-table.ts';
import { openApprovals } from '../../src/approvals/open-approvals.ts';
import { createClient } from '../../src/client/client.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import { noEvents } from '../../src/seams/events.ts';
import type { MemoryStore } from '../../src/seams/memory.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { openTestMemory, overriding } from './memory-fixture.ts';
import { collect, startTestServer } from './server-fixture.ts';

const entry = { content: 'a fact', category: 'core', source: 'test' };

test('API-1: a refusal is an error with the code, the hint and the details of the server', async () => {
  await using server = await startTestServer({ rate: { perMinute: 1, burst: 2 } });
  const client = server.client('alice');
  await expect(client.get('nothing')).rejects.toMatchObject({
    name: 'GeodeError',
    code: 'entry_not_found',
    status: 404,
  });
  await expect(client.search('')).rejects.toMatchObject({ code: 'empty_query', hint: expect.any(String) });
  await expect(client.list()).rejects.toMatchObject({
    code: 'rate_limited',
    details: { retry_after_s: expect.any(Number) },
  });
  await expect(createClient({ url: server.url }).list()).rejects.toMatchObject({ code: 'unauthorized' });
});

test('aborts a call by its signal, also a streaming call', async () => {
  const left = Promise.withResolvers<void>();
  await using server = await startTestServer({
    openMemory: async (dir) => storingOneBatch(await openTestMemory(dir), left.resolve),
  });
  const client = server.client('alice');
  await expect(client.list({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'cancelled' });
  const entries = Array.from({ length: 1000 }, (_, i) => ({ ...entry, content: `fact ${i}` }));
  for await (const event of client.bulkEvents(entries)) {
    expect(event.type).toBe('progress');
    break;
  }
  await left.promise;
  expect((await client.list()).total).toBeLessThan(1000);
});

test('reports a missing server with its URL, and a server that is not Geode with its status', async () => {
  await expect(createClient({ url: 'http://127.0.0.1:9' }).list()).rejects.toMatchObject({
    code: 'server_unreachable',
    message: expect.stringContaining('http://127.0.0.1:9'),
  });
  const other = createServer((_, response) => response.writeHead(502).end('<h1>Bad gateway</h1>'));
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const address = other.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  await expect(createClient({ url: `http://127.0.0.1:${address.port}` }).list()).rejects.toMatchObject({
    code: 'server_unreachable',
    message: expect.stringContaining('502'),
  });
  other.close();
});

test('reassembles events that arrive in pieces', async () => {
  await using server = await startTestServer();
  const entries = Array.from({ length: 1000 }, (_, i) => ({
    ...entry,
    id: `ünï-${i}`,
    content: `fact ${i}`,
  }));
  const events = await collect(server.client('alice').bulkEvents(entries));
  const ids = events.flatMap((event) => (event.type === 'progress' ? event.stored.map(({ id }) => id) : []));
  expect(ids).toEqual(entries.map(({ id }) => id));
});

test('ready reports the state of each part', async () => {
  await using server = await startTestServer();
  const ready = await server.client('alice').ready();
  expect(ready.status).toBe('up');
  expect(ready.parts.map(({ name }) => name)).toContain('truth');
});

test('an admin sees the size of the store and indexes it again', async () => {
  await using server = await startTestServer();
  const client = server.client('alice');
  await client.bulk([entry, { ...entry, content: 'another fact' }]);
  expect(await client.stats()).toMatchObject({ store: 'sqlite', entries: 2, namespaces: 1, dimensions: 64 });
  const events = await collect(client.reindex());
  expect(events.at(-1)).toEqual({ type: 'end', done: 2 });
  expect((await client.search('fact')).total).toBe(2);
});

test('a call sends only the parameters of its own query', async () => {
  using folder = temporaryFolder();
  using ledger = new Ledger(join(folder.path, 'ledger.db'), [approvalChapter]);
  using approvals = openApprovals({ ledger, events: noEvents });
  await using server = await startTestServer({ parts: { approvals } });
  // The server refuses a name that the query does not have.
  const refused = await server.caller('alice')('/api/v1/approvals?cwd=/tmp');
  expect(refused).toMatchObject({ status: 400, body: { code: 'invalid_input' } });
  const context = { limit: 1, cwd: '/tmp', signal: new AbortController().signal };
  expect(await server.client('alice').approvals.list(context)).toEqual([]);
});

/** A memory that stores the first batch; the next one waits until its caller has left. */
function storingOneBatch(store: MemoryStore, onLeft: () => void): MemoryStore {
  let batches = 0;
  return overriding(store, {
    in: (namespace) => {
      const memory = store.in(namespace);
      return overriding(memory, {
        async storeMany(entries, cancel = {}) {
          batches += 1;
          if (batches > 1 && cancel.signal !== undefined) {
            if (!cancel.signal.aborted) await once(cancel.signal, 'abort');
            onLeft();
          }
          return memory.storeMany(entries, cancel);
        },
      });
    },
  });
}
