import { describe, expect, it } from 'vitest';
import { wordEmbedder } from '../../memory/word-embedder.ts';
import { entry, type MemoryScene } from './scene.ts';

export function upkeepContract(scene: () => MemoryScene): void {
  describe('its upkeep', () => {
    it('answers from the keyword half while the embedder is down, and repairs itself (MEM-4, MEM-5)', async () => {
      const { memory, store, embedder } = scene();
      await memory.store(entry('apples are red', { key: 'a' }));
      await store.settled();
      embedder.down = 'no route to the model';
      const { indexed } = await memory.store(entry('apples are green', { key: 'b' }));
      expect(indexed).toBe(false);
      const answer = await memory.recall({ text: 'green apples' });
      expect(answer.results[0]?.entry.key).toBe('b');
      expect(answer.degraded).toEqual([
        { half: 'dense', reason: expect.stringContaining('no route to the model') },
      ]);
      expect(answer.results[0]?.why).toMatchObject({ dense: null, keyword: { share: 1 } });
      embedder.down = null;
      await expect.poll(async () => (await store.health()).pending, { timeout: 60_000 }).toBe(0);
      const whole = await memory.recall({ text: 'green apples' });
      expect(whole.degraded).toEqual([]);
      expect(whole.results[0]?.why.dense).not.toBeNull();
    });

    it('finds every entry after a close and reopen (MEM-5)', async () => {
      const { memory, store, reopen } = scene();
      await memory.store(entry('durable words', { key: 'd' }));
      await store.stop();
      await expect(memory.get('d')).rejects.toMatchObject({ code: 'memory_down' });
      await using again = reopen();
      expect(await again.keysOf('durable')).toEqual(['d']);
    });

    it('embeds all entries again when the model changes, while search keeps working (MEM-3)', async () => {
      const before = scene();
      await before.memory.storeMany(
        Array.from({ length: 100 }, (_, i) => entry(`fact number ${i}`, { key: `f${i}` })),
      );
      await before.store.stop();
      await using after = before.reopen(wordEmbedder({ model: 'other', dimensions: 96 }));
      const { memory, store } = after;
      expect((await memory.recall({ text: 'fact number 42' })).total).toBeGreaterThan(0);
      await store.settled();
      const { results, degraded } = await memory.recall({ text: 'fact number 42' });
      expect(degraded).toEqual([]);
      expect(results[0]?.why.dense).not.toBeNull();
      expect(await store.stats()).toMatchObject({ entries: 100, vectors: 100, dimensions: 96 });
    });

    it('gives users turns: a small entry does not wait for the large import of another user', async () => {
      const { store, memory, embedder } = scene();
      await store.in('carol').store(entry('the model is known'));
      await store.settled();
      const gate = Promise.withResolvers<void>();
      embedder.gate = gate.promise;
      const sentence = 'a long book about apples and pears ';
      await memory.storeMany(
        Array.from({ length: 3 }, (_, i) => entry(`book ${i}: ${sentence.repeat(3_000)}`)),
      );
      await store.in('bob').store(entry('a note by bob'));
      embedder.seen.length = 0;
      gate.resolve();
      await store.settled();
      const place = embedder.seen.indexOf('a note by bob');
      expect(place).toBeGreaterThanOrEqual(0);
      expect(embedder.seen.length).toBeGreaterThan(500);
      expect(place).toBeLessThan(250);
    });

    it('refuses waiting text above the limit of one user, stores nothing of it, and accepts more later', async () => {
      const before = scene();
      await before.store.stop();
      await using after = before.reopen(before.embedder, { pendingText: 10_000 });
      const { store, memory, embedder } = after;
      await memory.store(entry('what was there before', { key: 'old' }));
      await store.settled();
      const gate = Promise.withResolvers<void>();
      embedder.gate = gate.promise;
      await memory.store(entry('x'.repeat(9_000), { key: 'big' }));
      const refused = memory.storeMany([
        entry('y', { key: 'small' }),
        entry('z'.repeat(2_000), { key: 'more' }),
      ]);
      await expect(refused).rejects.toMatchObject({ code: 'too_much_pending', status: 429 });
      expect(await memory.get('small')).toBeNull();
      await store.in('bob').store(entry('z'.repeat(2_000)));
      // Stores that reduce the debt pass, and so do repeated ones.
      await memory.store(entry('shorter', { key: 'big' }));
      expect((await memory.store(entry('what was there before', { key: 'old' }))).outcome).toBe('merged');
      gate.resolve();
      await store.settled();
      await memory.store(entry('z'.repeat(9_900), { key: 'more' }));
    });

    it('finds an entry by its declared neighbours (MEM-4)', async () => {
      const { memory, store, keysOf } = scene();
      const words = { fusion: { kind: 'weighted', dense: 0 } } as const;
      await memory.storeMany([
        entry('Which cake does Ada like?', { key: '1', thread: 'chat' }),
        entry('The one with lemon.', { key: '2', thread: 'chat' }),
        entry('Noted for her birthday.', { key: '3', thread: 'chat' }),
        entry('An unrelated remark.', { key: '4' }),
        entry('Port 4430.', { key: '5', context: 'Where does the gateway listen?' }),
        entry('We moved.', { key: '6', date: new Date('2023-05-08') }),
      ]);
      await store.settled();
      expect(await keysOf('cake', words)).toEqual(['1', '2']);
      expect(await keysOf('lemon', words)).toEqual(['2', '1', '3']);
      expect(await keysOf('gateway', words)).toEqual(['5']);
      const { results } = await memory.recall({ text: 'Which cakes?', ...words });
      expect(results.map(({ why }) => why.summary)).toEqual([
        'it has cakes',
        'words of the query are near it',
      ]);
      expect(await keysOf('what happened in May 2023', words)).toEqual(['6']);
      expect(await memory.get('3')).toMatchObject({ thread: 'chat', order: 3, context: null, date: null });
      // The one in the middle leaves: what was around it meets.
      await memory.forget('2');
      await store.settled();
      expect(await keysOf('cake', words)).toEqual(['1', '3']);
      // Store the middle entry again, between the two, with another key and other words.
      await memory.store(entry('Cherry, she says.', { key: '2b', thread: 'chat', order: 1.5 }));
      await store.settled();
      expect(await keysOf('cherry', words)).toEqual(['2b', '1', '3']);
      expect(await keysOf('cake', words)).toEqual(['1', '2b']);
      // The next version leaves the thread.
      await memory.store(entry('Cherry, she says.', { key: '2b' }));
      await store.settled();
      expect(await keysOf('cherry', words)).toEqual(['2b']);
    });

    it('embeds an entry together with the one before it, and again when that changes (MEM-4)', async () => {
      const { memory, store, embedder } = scene();
      await memory.storeMany([
        entry('first', { key: '1', thread: 'chat' }),
        entry('second', { key: '2', thread: 'chat' }),
        entry('alone', { key: '3' }),
      ]);
      await store.settled();
      expect(embedder.seen).toContain('first\nsecond');
      expect(embedder.seen.some((text) => text.includes('\nalone'))).toBe(false);
      await memory.store(entry('changed', { key: '1', thread: 'chat' }));
      await store.settled();
      expect(embedder.seen).toContain('changed\nsecond');
      const { results } = await memory.recall({ text: 'changed', fusion: { kind: 'weighted', dense: 1 } });
      expect(results.slice(0, 2).map((result) => result.entry.key)).toEqual(['1', '2']);
    });

    it('re-indexes on demand and reports progress', async () => {
      const { memory, store } = scene();
      await memory.storeMany(Array.from({ length: 40 }, (_, i) => entry(`fact ${i}`)));
      const progress: number[] = [];
      for await (const { done, total } of store.reindex()) {
        progress.push(done);
        expect(total).toBe(40);
        expect((await memory.recall({ text: 'fact 7' })).total).toBe(40);
      }
      expect(progress[0]).toBe(0);
      expect(progress.at(-1)).toBe(40);
    });

    it('reports each part and never throws', async () => {
      const { memory, store } = scene();
      await memory.store(entry('one'));
      await store.settled();
      expect(await store.health()).toMatchObject({
        state: 'up',
        pending: 0,
        parts: [
          { name: 'truth', state: 'up' },
          { name: 'index', state: 'up' },
          { name: 'embedder', state: 'up' },
        ],
      });
      await store.stop();
      expect((await store.health()).state).toBe('down');
    });
  });
}
