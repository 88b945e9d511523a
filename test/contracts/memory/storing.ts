import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { entry, type MemoryScene } from './scene.ts';

export function storingContract(scene: () => MemoryScene): void {
  describe('storing', () => {
    it('finds a stored entry at once (MEM-1)', async () => {
      const { memory, keysOf, clock } = scene();
      const until = new Date(clock.now + 1_000);
      const { entry: stored, outcome } = await memory.store(
        entry('Bread needs flour', {
          key: 'a/b c',
          tags: ['food', 'bread'],
          source: 'https://x.test/?q=1',
          validUntil: until,
        }),
      );
      expect(outcome).toBe('created');
      expect(stored).toMatchObject({
        key: 'a/b c',
        content: 'Bread needs flour',
        category: 'project',
        tags: ['food', 'bread'],
        sources: ['https://x.test/?q=1'],
        version: 1,
        sightings: 1,
        createdAt: new Date(clock.now),
        validUntil: until,
        stale: null,
      });
      expect(await memory.get('a/b c')).toEqual(stored);
      expect(await keysOf('flour')).toEqual(['a/b c']);
    });

    it('finds a new entry by its words at once, and by meaning once its vectors exist (MEM-4, MEM-5)', async () => {
      const { memory, store, embedder } = scene();
      embedder.down = 'not yet';
      const first = await memory.store(entry('Bread needs flour', { key: 'a' }));
      expect(first.indexed).toBe(false);
      const early = await memory.recall({ text: 'flour' });
      expect(early.results[0]).toMatchObject({ entry: { key: 'a' }, why: { dense: null } });
      expect(early.degraded).toEqual(
        expect.arrayContaining([{ half: 'dense', reason: expect.stringContaining('not yet') }]),
      );
      embedder.down = null;
      await expect.poll(async () => (await store.health()).pending, { timeout: 60_000 }).toBe(0);
      const late = await memory.recall({ text: 'flour' });
      expect(late.degraded).toEqual([]);
      expect(late.results[0]?.why.dense).not.toBeNull();
      expect(await memory.store(entry('Bread needs flour', { key: 'a' }))).toMatchObject({
        outcome: 'merged',
        indexed: true,
      });
    });

    it('other callers can read and search while many entries are stored (MEM-2)', async () => {
      const { memory, keysOf } = scene();
      await memory.store(entry('a needle in the hay', { key: 'needle' }));
      let stored = false;
      const hay = Array.from({ length: 1_000 }, (_, i) => entry(`hay ${i} ${'straw and more '.repeat(300)}`));
      const storing = memory.storeMany(hay).then(() => {
        stored = true;
      });
      let answeredMeanwhile = 0;
      while (!stored) {
        await setImmediate();
        await memory.list({ limit: 1 });
        if (!stored) answeredMeanwhile += 1;
        const found = await keysOf('needle', { fusion: { kind: 'weighted', dense: 0 } });
        expect(found).toEqual(['needle']);
      }
      await storing;
      expect(answeredMeanwhile).toBeGreaterThan(0);
      expect((await memory.list({ limit: 1 })).total).toBe(1_001);
    }, 180_000);

    it('makes the next version under the same key and keeps created_at and the history (MEM-1, MEM-8)', async () => {
      const { memory, keysOf, clock } = scene();
      const created = new Date(clock.now);
      await memory.store(entry('The port is 8080', { key: 'port', tags: ['old'] }));
      clock.now += 5_000;
      const { outcome } = await memory.store(entry('The port is 4430', { key: 'port', source: 'second' }));
      expect(outcome).toBe('updated');
      expect(await memory.get('port')).toMatchObject({
        content: 'The port is 4430',
        version: 2,
        createdAt: created,
        updatedAt: new Date(clock.now),
        tags: [],
        sources: ['test', 'second'],
      });
      expect(await memory.history('port')).toEqual([
        expect.objectContaining({
          version: 1,
          content: 'The port is 8080',
          tags: ['old'],
          updatedAt: created,
        }),
      ]);
      expect(await keysOf('8080', { fusion: { kind: 'weighted', dense: 0 } })).toEqual([]);
      expect(await memory.history('nothing')).toEqual([]);
    });

    it('merges a repeat without a key, also with other white space (MEM-8)', async () => {
      const { memory } = scene();
      const first = await memory.store(entry('Water boils\nat 100 degrees', { tags: ['a'] }));
      const again = await memory.store(
        entry('Water  boils at 100 degrees ', { tags: ['b'], source: 'other' }),
      );
      expect(again.outcome).toBe('merged');
      expect(again.entry).toMatchObject({
        key: first.entry.key,
        sightings: 2,
        version: 1,
        tags: ['a', 'b'],
        sources: ['test', 'other'],
      });
      expect((await memory.list()).total).toBe(1);
      const elsewhere = await memory.store(entry('Water boils at 100 degrees', { category: 'daily' }));
      expect(elsewhere.outcome).toBe('created');
    });

    it('supersedes: the old entry leaves recall and stays readable (MEM-8)', async () => {
      const { memory, keysOf } = scene();
      await memory.store(entry('Alice lives in Berlin', { key: 'old' }));
      await memory.store(entry('Alice lives in Oslo', { key: 'new', supersedes: ['old'] }));
      expect(await keysOf('where does Alice live')).toEqual(['new']);
      expect(await keysOf('old')).not.toContain('old');
      expect(await memory.get('old')).toMatchObject({ stale: 'superseded', supersededBy: 'new' });
      await expect(memory.store(entry('x y', { supersedes: ['missing'] }))).rejects.toMatchObject({
        code: 'entry_not_found',
      });
      expect(await keysOf('x y', { fusion: { kind: 'weighted', dense: 0 } })).toEqual([]);
    });

    it('marks expired entries, and leaves them out of strict recall (MEM-8)', async () => {
      const { memory, clock } = scene();
      await memory.store(entry('The sale ends today', { key: 'sale', validUntil: new Date(clock.now + 10) }));
      expect((await memory.get('sale'))?.stale).toBeNull();
      clock.now += 10;
      const loose = await memory.recall({ text: 'sale' });
      expect(loose.results.map((result) => result.entry.stale)).toEqual(['expired']);
      expect(await memory.recall({ text: 'sale', strict: true })).toMatchObject({ results: [], total: 0 });
      expect(await memory.list({ strict: true })).toMatchObject({ total: 0 });
    });

    it('redacts secrets in content, tags, sources and the search index (MEM-8)', async () => {
      const { memory } = scene();
      const key = `sk-ant-api03-${'a1B2'.repeat(10)}`;
      const { scrubbed, entry: stored } = await memory.store(
        entry(`Call with ${key} and password=hunter2-hunter2!`, {
          key: 'k',
          tags: [`t ${key}`],
          source: 'https://bob:s3cretword@x.test',
          searchText: `how to call ${key}`,
          identifiers: [key],
        }),
      );
      expect(scrubbed).toBeGreaterThanOrEqual(6);
      expect(JSON.stringify(stored)).not.toMatch(/sk-ant-api03|hunter2|s3cretword/);
      await expect(memory.store(entry('x', { key }))).rejects.toMatchObject({ code: 'invalid_input' });
    });

    it('stores a batch whole or not at all', async () => {
      const { memory } = scene();
      await expect(
        memory.storeMany([entry('one'), entry('two', { supersedes: ['nobody'] })]),
      ).rejects.toThrow();
      expect((await memory.list()).total).toBe(0);
      const stored = await memory.storeMany([
        entry('one', { key: '1' }),
        entry('two', { key: '2' }),
        entry('one'),
      ]);
      expect(stored.map(({ outcome }) => outcome)).toEqual(['created', 'created', 'merged']);
    });

    it('keeps the entry of the last call when several writers store one key', async () => {
      const { memory } = scene();
      await Promise.all(
        Array.from({ length: 20 }, (_, i) => memory.store(entry(`value ${i}`, { key: 'k' }))),
      );
      expect(await memory.get('k')).toMatchObject({ content: 'value 19', version: 20 });
      expect(await memory.history('k')).toHaveLength(19);
    });

    it.each([
      ['empty content', { content: ' \n' }, 'empty_content'],
      ['content that is too long', { content: 'x'.repeat(1_000_001) }, 'too_large'],
      ['a category with a capital', { category: 'Core' }, 'invalid_input'],
      ['no source', { source: '' }, 'invalid_input'],
      ['a NUL in a key', { key: 'a\0b' }, 'invalid_input'],
      ['a key that is too long', { key: 'k'.repeat(513) }, 'invalid_input'],
      ['an invalid date', { validUntil: new Date(Number.NaN) }, 'invalid_input'],
      ['an order without a thread', { order: 1 }, 'invalid_input'],
      ['an order that is not a number', { thread: 't', order: Number.NaN }, 'invalid_input'],
    ])('refuses %s', async (_what, wrong, code) => {
      const { memory } = scene();
      await expect(memory.store({ ...entry('fine'), ...wrong })).rejects.toMatchObject({ code });
      expect((await memory.list()).total).toBe(0);
    });
  });
}
