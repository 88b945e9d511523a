import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { QdrantClient } from '@qdrant/js-client-rest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openMemory } from '../../src/memory/open-memory.ts';
import { memoryContract } from '../contracts/memory.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { type QdrantServer, qdrantMissing, startQdrant } from './qdrant-server.ts';
import { wordEmbedder } from './word-embedder.ts';

describe.skipIf(qdrantMissing !== null)(
  `a real Qdrant${qdrantMissing === null ? '' : ` (skipped: ${qdrantMissing})`}`,
  () => {
    let server: QdrantServer;
    beforeAll(async () => {
      server = await startQdrant();
    }, 300_000);
    afterAll(() => server[Symbol.asyncDispose](), 180_000);

    memoryContract('Qdrant', (options) =>
      openMemory({ ...options, qdrant: { url: server.url, timeoutMs: 60_000 } }),
    );

    const entry = (content: string, key: string) => ({ content, key, category: 'core', source: 'test' });

    it('answers by words while Qdrant is down, and repairs it afterwards (MEM-4, MEM-5)', async () => {
      using folder = temporaryFolder();
      await using own = await startQdrant();
      await using embedder = wordEmbedder();
      await using store = openMemory({
        file: `${folder.path}/m.db`,
        embedder,
        qdrant: { url: own.url, timeoutMs: 60_000 },
      });
      const memory = store.in('alice');
      await memory.store(entry('apples are red', 'a'));
      await store.settled();
      await own.kill();
      expect((await memory.store(entry('apples are green', 'b'))).indexed).toBe(false);
      const answer = await memory.recall({ text: 'green apples' });
      expect(answer.results.map((result) => result.entry.key)).toEqual(['b', 'a']);
      expect(answer.degraded.map(({ half }) => half)).toEqual(['dense', 'keyword']);
      const health = await store.health();
      expect(health.state).toBe('degraded');
      expect(health.pending).toBeGreaterThan(0);
      await own.start();
      await expect.poll(async () => (await store.health()).pending, { timeout: 120_000 }).toBe(0);
      const whole = await memory.recall({ text: 'green apples' });
      expect(whole.degraded).toEqual([]);
      expect(whole.results[0]).toMatchObject({
        entry: { key: 'b' },
        why: { dense: { rank: 1 }, keyword: { rank: 1 } },
      });
    }, 300_000);

    it('rebuilds a deleted collection (MEM-5)', async () => {
      using folder = temporaryFolder();
      await using embedder = wordEmbedder();
      const collection = `lost-${randomUUID()}`;
      await using store = openMemory({
        file: `${folder.path}/m.db`,
        embedder,
        qdrant: { url: server.url, collection, timeoutMs: 60_000 },
      });
      const memory = store.in('alice');
      await memory.storeMany(Array.from({ length: 20 }, (_, i) => entry(`pear ${i}`, `p${i}`)));
      await store.settled();
      const client = new QdrantClient({ url: server.url, checkCompatibility: false });
      const { collections } = await client.getCollections();
      for (const { name } of collections)
        if (name.startsWith(collection)) await client.deleteCollection(name);
      expect((await memory.recall({ text: 'pear 7' })).results[0]?.entry.key).toBe('p7');
      await expect
        .poll(async () => (await memory.recall({ text: 'pear 7' })).degraded, { timeout: 120_000 })
        .toEqual([]);
      expect(await memory.recall({ text: 'pear 7' })).toMatchObject({ total: 20 });
    }, 300_000);

    it('does not wait for a Qdrant that is slow (MEM-4)', async () => {
      using folder = temporaryFolder();
      const slow = createServer(async (_request, response) => {
        await delay(60_000, undefined, { ref: false });
        response.end();
      }).listen(0, '127.0.0.1');
      await once(slow, 'listening');
      const address = slow.address();
      if (address === null || typeof address === 'string') throw new Error('no port');
      await using embedder = wordEmbedder();
      await using store = openMemory({
        file: `${folder.path}/m.db`,
        embedder,
        qdrant: { url: `http://127.0.0.1:${address.port}`, timeoutMs: 200 },
      });
      const memory = store.in('alice');
      expect((await memory.store(entry('apples', 'a'))).indexed).toBe(false);
      const { results, degraded } = await memory.recall({ text: 'apples' });
      expect(results[0]?.entry.key).toBe('a');
      expect(degraded).toHaveLength(2);
      slow.closeAllConnections();
      slow.close();
    }, 300_000);

    it('a cluster of three that loses a node still answers and takes writes (MEM-2)', async () => {
      using folder = temporaryFolder();
      await using first = await startQdrant({ bootstrap: null });
      await using second = await startQdrant({ bootstrap: first.peerUrl });
      await using third = await startQdrant({ bootstrap: first.peerUrl });
      const client = new QdrantClient({ url: first.url, checkCompatibility: false });
      await expect
        .poll(
          async () => Object.keys(Object(await client.api().clusterStatus({})).data.result.peers).length,
          { timeout: 120_000 },
        )
        .toBe(3);
      await using embedder = wordEmbedder();
      await using store = openMemory({
        file: `${folder.path}/m.db`,
        embedder,
        qdrant: { url: first.url, replicas: 2 },
      });
      const memory = store.in('alice');
      await memory.storeMany(Array.from({ length: 50 }, (_, i) => entry(`plum tree ${i}`, `p${i}`)));
      await store.settled();
      await third.kill();
      for (let i = 0; i < 50; i += 1) {
        const { results } = await memory.recall({ text: `plum tree ${i}` });
        expect(results[0]?.entry.key).toBe(`p${i}`);
      }
      await memory.store(entry('a late plum', 'late'));
      await expect.poll(async () => (await store.health()).pending, { timeout: 120_000 }).toBe(0);
      expect(second.url).not.toBe(third.url);
    }, 300_000);
  },
);
