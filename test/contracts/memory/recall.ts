import { describe, expect, it } from 'vitest';
import { eachOf } from '../../each-of.ts';
import { entry, type MemoryScene } from './scene.ts';

export function recallContract(scene: () => MemoryScene): void {
  describe('recall', () => {
    it('explains each score and puts an exact key, name or error first (MEM-4)', async () => {
      const { memory, store } = scene();
      await memory.storeMany([
        entry('Notes about header parsing and headers in general, parse parse parse', { key: 'notes' }),
        entry('The function parseHttpHeader cuts at a colon', { key: 'code' }),
        entry('It fails with\nTypeError: cannot read /home/a/x.js line 10\nfix: check for null', {
          key: 'bug',
        }),
        entry('Something else entirely', { key: 'named', identifiers: ['parseHttpHeader'] }),
      ]);
      await store.settled();
      const byName = await memory.recall({ text: 'parseHttpHeader' });
      expect(
        byName.results
          .slice(0, 2)
          .map(({ entry: { key }, why }) => [key, why.exact])
          .sort(),
      ).toEqual([
        ['code', 'identifier'],
        ['named', 'identifier'],
      ]);
      expect(byName.results.find(({ entry: { key } }) => key === 'code')?.why).toMatchObject({
        words: expect.arrayContaining(['parsehttpheader']),
        dense: {
          rank: expect.any(Number),
          raw: expect.any(Number),
          normalised: expect.any(Number),
          share: expect.any(Number),
        },
        keyword: { rank: expect.any(Number) },
      });
      const byError = await memory.recall({ text: 'TypeError: cannot read /srv/app/y.js line 99' });
      expect(byError.results[0]).toMatchObject({ entry: { key: 'bug' }, why: { exact: 'error' } });
      expect((await memory.recall({ text: 'notes' })).results[0]).toMatchObject({
        entry: { key: 'notes' },
        why: { exact: 'key' },
      });
      for (const { score } of eachOf(byName.results)) expect(score).toBeGreaterThanOrEqual(0);
    });

    it('finds other entries when every chunk of one long entry is nearer (MEM-4)', async () => {
      const { memory, store, keysOf } = scene();
      // Each chunk is the query and nothing else; the others share half of it.
      await memory.storeMany([
        entry('apple pear '.repeat(40_000), { key: 'long' }),
        ...Array.from({ length: 20 }, (_, i) => entry(`apple ${i}`, { key: `short-${i}` })),
      ]);
      await store.settled();
      const found = await keysOf('apple pear', { fusion: { kind: 'weighted', dense: 1 }, limit: 50 });
      expect(found[0]).toBe('long');
      expect(found).toHaveLength(21);
    });

    it('applies filters before the limit (MEM-2)', async () => {
      const { memory, keysOf } = scene();
      await memory.storeMany([
        ...Array.from({ length: 300 }, (_, i) => entry(`apple number ${i}`, { category: 'daily' })),
        entry('an apple in the project', { key: 'wanted', tags: ['fruit', 'red'], source: 'a garden' }),
      ]);
      for (const filter of [{ category: 'project' }, { tags: ['fruit', 'red'] }, { source: 'a garden' }]) {
        expect(await memory.recall({ text: 'apple', ...filter })).toMatchObject({
          total: 1,
          totalIs: 'exact',
        });
        expect(await keysOf('apple', filter)).toEqual(['wanted']);
        expect(await memory.list(filter)).toMatchObject({ total: 1 });
      }
      expect(await keysOf('apple', { tags: ['fruit', 'green'] })).toEqual([]);
    });

    it('pages without gaps or repeats, with one total for all pages', async () => {
      const { memory, store, keysOf } = scene();
      await memory.storeMany(
        Array.from({ length: 60 }, (_, i) => entry(`pear tree ${i % 7} in row ${i}`, { key: `p${i}` })),
      );
      await store.settled();
      const seen: string[] = [];
      for (let offset = 0; offset < 70; offset += 7) {
        const { results, total, totalIs } = await memory.recall({ text: 'pear tree', limit: 7, offset });
        expect([total, totalIs]).toEqual([60, 'exact']);
        seen.push(...results.map(({ entry: { key } }) => key));
      }
      expect(new Set(seen).size).toBe(60);
      expect(seen).toEqual(await keysOf('pear tree', { limit: 100 }));
    });

    it('marks the total as capped when more entries match than are ranked', async () => {
      const { memory } = scene();
      await memory.storeMany(Array.from({ length: 250 }, (_, i) => entry(`plum ${i}`)));
      expect((await memory.recall({ text: 'plum' })).totalIs).toBe('capped');
    });

    it('ranks by reciprocal rank when requested', async () => {
      const { memory } = scene();
      await memory.storeMany([entry('red fox', { key: 'a' }), entry('red bird', { key: 'b' })]);
      const { results } = await memory.recall({ text: 'red fox', fusion: { kind: 'rrf' } });
      expect(results.map(({ entry: { key } }) => key)).toEqual(['a', 'b']);
      expect(results[0]?.score).toBeCloseTo(1);
    });

    it('finds what lies deep inside a long entry (MEM-3)', async () => {
      const { memory, store } = scene();
      const filler = Array.from({ length: 400 }, (_, i) => `sentence ${i} about nothing.`).join(' ');
      await memory.storeMany([
        entry(`${filler} The zebra crossed the violet bridge. ${filler}`, { key: 'long' }),
        ...Array.from({ length: 20 }, (_, i) => entry(`other topic ${i}`)),
      ]);
      await store.settled();
      const { results } = await memory.recall({
        text: 'zebra violet bridge',
        fusion: { kind: 'weighted', dense: 1 },
      });
      expect(results[0]?.entry.key).toBe('long');
    });

    it.each([
      [{ text: '  ' }, 'empty_query'],
      [{ text: 'x', limit: 0 }, 'invalid_limit'],
      [{ text: 'x', limit: 101 }, 'invalid_limit'],
      [{ text: 'x', offset: -1 }, 'invalid_limit'],
      [{ text: 'x', category: 'projct' }, 'unknown_category'],
      [{ text: 'x'.repeat(10_001) }, 'too_large'],
      [{ text: 'x', fusion: { kind: 'weighted', dense: 2 } as const }, 'invalid_input'],
    ])('refuses a wrong query (%#)', async (query, code) => {
      const { memory } = scene();
      await expect(memory.recall(query)).rejects.toMatchObject({ code });
    });

    it.each([
      '"',
      'a AND (b',
      'NEAR(a b)',
      'words:x*',
      "'; DROP TABLE entries; --",
      '%_\\',
      '🦊 ünï',
      '\u{0}x',
    ])('searches %j as words, not as query syntax', async (text) => {
      const { memory, keysOf } = scene();
      await memory.store(entry(`text with ${text.replaceAll('\0', '')} in it`, { key: 'k' }));
      expect(await keysOf(text)).toEqual(['k']);
    });
  });
}
