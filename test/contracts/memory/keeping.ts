import { describe, expect, it } from 'vitest';
import { entry, type MemoryScene } from './scene.ts';

export function keepingContract(scene: () => MemoryScene): void {
  describe('its lists, exports and restores', () => {
    it('lists newest first, counts by category and deletes permanently (MEM-1)', async () => {
      const { memory, keysOf } = scene();
      await memory.storeMany([entry('one', { key: '1' }), entry('two', { key: '2', category: 'recipes' })]);
      expect((await memory.list()).entries.map(({ key }) => key)).toEqual(['2', '1']);
      expect((await memory.list({ limit: 1, offset: 1 })).entries.map(({ key }) => key)).toEqual(['1']);
      expect(Object.fromEntries(await memory.count())).toEqual({
        core: 0,
        project: 1,
        conversation: 0,
        daily: 0,
        scratch: 0,
        recipes: 1,
      });
      await expect(memory.list({ category: 'recipe' })).rejects.toMatchObject({ code: 'unknown_category' });
      expect(await memory.forget('2')).toBe(true);
      expect(await memory.forget('2')).toBe(false);
      expect(await memory.get('2')).toBeNull();
      expect(await keysOf('two', { fusion: { kind: 'weighted', dense: 0 } })).toEqual([]);
    });

    it('scrubs restored entries, in every field and every version (MEM-8)', async () => {
      const { memory, store } = scene();
      await memory.store(entry('one', { key: 'k' }));
      const [kept] = await all(memory.export());
      if (kept === undefined) throw new Error('nothing was exported');
      const secret = 'hunter2-hunter2';
      const fields = {
        content: `two ${secret}`,
        tags: [`t ${secret}`],
        sources: [`https://x.test/${secret}`],
      };
      const { versions } = { versions: [{ ...kept, ...fields, version: 1 }] };
      const stained = {
        ...kept,
        ...fields,
        version: 2,
        searchText: `how ${secret}`,
        identifiers: [secret],
        thread: `chat ${secret}`,
        context: `after ${secret}`,
        versions,
      };
      const copy = store.in('copy');
      const [restored] = await copy.restore([stained]);
      expect(restored?.scrubbed).toBe(10);
      expect(JSON.stringify(await all(copy.export()))).not.toContain(secret);
      expect((await copy.recall({ text: secret, fusion: { kind: 'weighted', dense: 0 } })).results).toEqual(
        [],
      );
    });

    it('exports everything that it keeps, and restores the same memory from it (MEM-8)', async () => {
      const { memory, store, clock } = scene();
      await memory.store(entry('The port is 8080', { key: 'port', tags: ['old'] }));
      clock.now += 1_000;
      await memory.store(entry('The port is 4430', { key: 'port', source: 'second', tags: ['a', 'b'] }));
      const place = { thread: 'ports', order: 7, context: 'asked by Ada', date: new Date('2023-05-08') };
      await memory.store(entry('The port was 80', { key: 'older', ...place }));
      clock.now += 1_000;
      await memory.store(
        entry('{"port": 4430}', {
          searchText: 'which port is it',
          identifiers: ['PORT'],
          supersedes: ['older'],
          validUntil: new Date(clock.now + 10),
        }),
      );
      await memory.store(entry('{"port": 4430}', { source: 'seen again' }));
      const kept = await all(memory.export());
      expect(kept.map(({ version, versions, sources }) => [version, versions.length, sources])).toEqual([
        [2, 1, ['test', 'second']],
        [1, 0, ['test']],
        [1, 0, ['test', 'seen again']],
      ]);
      expect(kept[1]).toMatchObject(place);
      clock.now += 1_000_000;
      const copy = store.in('copy');
      const restored = await copy.restore(kept);
      expect(restored.map(({ outcome }) => outcome)).toEqual(['created', 'created', 'created']);
      expect(await all(copy.export())).toEqual(kept);
      expect(await copy.list()).toEqual(await memory.list());
      expect(await copy.history('port')).toEqual(await memory.history('port'));
      // Both answers from the same half: until it is filled, the memory file answers in its stead.
      await store.settled();
      const found = await copy.recall({ text: 'which port', fusion: { kind: 'weighted', dense: 0 } });
      const original = await memory.recall({ text: 'which port', fusion: { kind: 'weighted', dense: 0 } });
      expect(found.results.map((result) => result.entry)).toEqual(
        original.results.map((result) => result.entry),
      );
      expect(found.results[0]?.entry.content).toBe('{"port": 4430}');

      expect((await copy.restore(kept)).map(({ outcome }) => outcome)).toEqual([
        'merged',
        'merged',
        'merged',
      ]);
      expect(await copy.history('port')).toHaveLength(1);
      await copy.store(entry('The port is 9000', { key: 'port' }));
      await copy.restore(kept.slice(0, 1));
      expect(await copy.get('port')).toMatchObject({ content: 'The port is 4430', version: 4 });
      expect(await copy.history('port')).toHaveLength(3);
      const leaky = kept.slice(0, 1).map((one) => ({
        ...one,
        key: 'leak',
        versions: one.versions.map((version) => ({ ...version, content: 'it is hunter2-hunter2' })),
      }));
      await copy.restore(leaky);
      expect(await copy.history('leak')).toHaveLength(1);
      expect(JSON.stringify(await copy.history('leak'))).not.toContain('hunter2');
    });

    it('keeps namespaces apart (MEM-6)', async () => {
      const { memory, store, keysOf } = scene();
      const bob = store.in('bob');
      await memory.store(entry('shared words', { key: 'k' }));
      await bob.store(entry('shared words too', { key: 'k', identifiers: ['k'] }));
      expect(await keysOf('shared words')).toEqual(['k']);
      expect((await memory.recall({ text: 'k' })).results.map((result) => result.entry.content)).toEqual([
        'shared words',
      ]);
      expect(await bob.forget('k')).toBe(true);
      expect(await memory.get('k')).not.toBeNull();
      expect(() => store.in('')).toThrow();
    });

    it('stores any valid text', async () => {
      const { memory, keysOf } = scene();
      const texts = [
        '日本語のテキスト検索',
        'مرحبا بالعالم',
        '👩‍👩‍👧‍👦 family',
        'a\u0301 vs á',
        '\ud800 lone',
        'x'.repeat(100_000),
      ];
      for (const [i, text] of texts.entries()) await memory.store(entry(text, { key: `ключ/${i}/🔑` }));
      for (const [i, text] of texts.entries()) {
        expect((await memory.get(`ключ/${i}/🔑`))?.content).toBe(text.toWellFormed());
      }
      expect((await keysOf('テキスト'))[0]).toBe('ключ/0/🔑');
    });
  });
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
