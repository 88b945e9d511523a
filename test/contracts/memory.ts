/** What every memory does, whatever it is made of. A backend's own test file gives the factory. */
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Memory, MemoryStore, NewEntry } from '../../src/core/memory.ts';
import { temporaryFolder } from '../memory/temporary-folder.ts';
import { type WordEmbedder, wordEmbedder } from '../memory/word-embedder.ts';

export interface OpenForTest {
  readonly file: string;
  readonly embedder: WordEmbedder;
  readonly secrets: () => Iterable<string>;
  readonly now: () => number;
}

export function memoryContract(name: string, open: (options: OpenForTest) => MemoryStore): void {
  describe(`memory on ${name}`, () => {
    let folder: ReturnType<typeof temporaryFolder>;
    let embedder: WordEmbedder;
    let store: MemoryStore;
    let memory: Memory;
    let now: number;
    const secrets = ['hunter2-hunter2'];
    const reopen = () =>
      open({ file: `${folder.path}/memory.db`, embedder, secrets: () => secrets, now: () => now });

    beforeEach(() => {
      folder = temporaryFolder();
      embedder = wordEmbedder();
      now = Date.UTC(2030, 0, 1);
      store = reopen();
      memory = store.in('alice');
    });
    afterEach(async () => {
      await store.stop();
      folder[Symbol.dispose]();
    });

    const entry = (content: string, more: Partial<NewEntry> = {}): NewEntry => ({
      content,
      category: 'project',
      source: 'test',
      ...more,
    });
    const keysOf = async (text: string, more = {}) =>
      (await memory.recall({ text, ...more })).results.map(({ entry: found }) => found.key);

    describe('storing', () => {
      it('keeps what it was given and finds it at once (MEM-1)', async () => {
        const until = new Date(now + 1_000);
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
          createdAt: new Date(now),
          validUntil: until,
          stale: null,
        });
        expect(await memory.get('a/b c')).toEqual(stored);
        expect(await keysOf('flour')).toEqual(['a/b c']);
      });

      it('is found by its words at once, and by meaning when its vectors are made (MEM-4, MEM-5)', async () => {
        embedder.down = 'not yet';
        const first = await memory.store(entry('Bread needs flour', { key: 'a' }));
        expect(first.indexed).toBe(false);
        const early = await memory.recall({ text: 'flour' });
        expect(early.results[0]).toMatchObject({ entry: { key: 'a' }, why: { dense: null } });
        expect(early.degraded).toEqual(
          expect.arrayContaining([{ half: 'dense', reason: expect.stringContaining('not yet') }]),
        );
        embedder.down = null;
        await expect.poll(async () => (await store.health()).pending, { timeout: 5_000 }).toBe(0);
        const late = await memory.recall({ text: 'flour' });
        expect(late.degraded).toEqual([]);
        expect(late.results[0]?.why.dense).not.toBeNull();
        expect(await memory.store(entry('Bread needs flour', { key: 'a' }))).toMatchObject({
          outcome: 'merged',
          indexed: true,
        });
      });

      it('lets others read and search while many are being stored (MEM-2)', async () => {
        await memory.store(entry('a needle in the hay', { key: 'needle' }));
        let stored = false;
        const hay = Array.from({ length: 1_000 }, (_, i) =>
          entry(`hay ${i} ${'straw and more '.repeat(300)}`),
        );
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
      }, 60_000);

      it('makes the next version under the same key and keeps created_at and the history (MEM-1, MEM-8)', async () => {
        const created = new Date(now);
        await memory.store(entry('The port is 8080', { key: 'port', tags: ['old'] }));
        now += 5_000;
        const { outcome } = await memory.store(entry('The port is 4430', { key: 'port', source: 'second' }));
        expect(outcome).toBe('updated');
        expect(await memory.get('port')).toMatchObject({
          content: 'The port is 4430',
          version: 2,
          createdAt: created,
          updatedAt: new Date(now),
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

      it('merges a repeat without a key, whatever its white space (MEM-8)', async () => {
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

      it('marks what has run out, and leaves it out of strict recall (MEM-8)', async () => {
        await memory.store(entry('The sale ends today', { key: 'sale', validUntil: new Date(now + 10) }));
        expect((await memory.get('sale'))?.stale).toBeNull();
        now += 10;
        const loose = await memory.recall({ text: 'sale' });
        expect(loose.results.map((result) => result.entry.stale)).toEqual(['expired']);
        expect(await memory.recall({ text: 'sale', strict: true })).toMatchObject({ results: [], total: 0 });
        expect(await memory.list({ strict: true })).toMatchObject({ total: 0 });
      });

      it('never keeps a secret: not in content, tags, sources or what is searched (MEM-8)', async () => {
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

      it('stores many or none', async () => {
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

      it('lets the last of several writers of one key win, in the order of their calls', async () => {
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
      ])('refuses %s', async (_what, wrong, code) => {
        await expect(memory.store({ ...entry('fine'), ...wrong })).rejects.toMatchObject({ code });
        expect((await memory.list()).total).toBe(0);
      });
    });

    describe('recall', () => {
      it('explains each score and puts an exact key, name or error first (MEM-4)', async () => {
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
        for (const { score } of byName.results) expect(score).toBeGreaterThanOrEqual(0);
      });

      it('applies filters before the limit (MEM-2)', async () => {
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

      it('says when more match than are ranked', async () => {
        await memory.storeMany(Array.from({ length: 250 }, (_, i) => entry(`plum ${i}`)));
        expect((await memory.recall({ text: 'plum' })).totalIs).toBe('capped');
      });

      it('ranks by ranks when asked to', async () => {
        await memory.storeMany([entry('red fox', { key: 'a' }), entry('red bird', { key: 'b' })]);
        const { results } = await memory.recall({ text: 'red fox', fusion: { kind: 'rrf' } });
        expect(results.map(({ entry: { key } }) => key)).toEqual(['a', 'b']);
        expect(results[0]?.score).toBeCloseTo(1);
      });

      it('finds what lies deep inside a long entry (MEM-3)', async () => {
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
      ])('takes %j as words and not as syntax', async (text) => {
        await memory.store(entry(`text with ${text.replaceAll('\0', '')} in it`, { key: 'k' }));
        expect(await keysOf(text)).toEqual(['k']);
      });
    });

    describe('the rest of the interface', () => {
      it('lists newest first, counts by category and forgets for good (MEM-1)', async () => {
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

      it('exports everything that it keeps, and restores the same memory from it (MEM-8)', async () => {
        await memory.store(entry('The port is 8080', { key: 'port', tags: ['old'] }));
        now += 1_000;
        await memory.store(entry('The port is 4430', { key: 'port', source: 'second', tags: ['a', 'b'] }));
        await memory.store(entry('The port was 80', { key: 'older' }));
        now += 1_000;
        await memory.store(
          entry('{"port": 4430}', {
            searchText: 'which port is it',
            identifiers: ['PORT'],
            supersedes: ['older'],
            validUntil: new Date(now + 10),
          }),
        );
        await memory.store(entry('{"port": 4430}', { source: 'seen again' }));
        const kept = await all(memory.export());
        expect(kept.map(({ version, versions, sources }) => [version, versions.length, sources])).toEqual([
          [2, 1, ['test', 'second']],
          [1, 0, ['test']],
          [1, 0, ['test', 'seen again']],
        ]);
        now += 1_000_000;
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

      it('goes on with one half while the embedder is down, and repairs itself (MEM-4, MEM-5)', async () => {
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
        await expect.poll(async () => (await store.health()).pending, { timeout: 5_000 }).toBe(0);
        const whole = await memory.recall({ text: 'green apples' });
        expect(whole.degraded).toEqual([]);
        expect(whole.results[0]?.why.dense).not.toBeNull();
      });

      it('finds everything again after it was closed and opened (MEM-5)', async () => {
        await memory.store(entry('durable words', { key: 'd' }));
        await store.stop();
        await expect(memory.get('d')).rejects.toMatchObject({ code: 'memory_down' });
        store = reopen();
        memory = store.in('alice');
        expect(await keysOf('durable')).toEqual(['d']);
      });

      it('embeds everything anew when the model changes, while search goes on (MEM-3)', async () => {
        await memory.storeMany(
          Array.from({ length: 100 }, (_, i) => entry(`fact number ${i}`, { key: `f${i}` })),
        );
        await store.stop();
        embedder = wordEmbedder({ model: 'other', dimensions: 96 });
        store = reopen();
        memory = store.in('alice');
        expect((await memory.recall({ text: 'fact number 42' })).total).toBeGreaterThan(0);
        await store.settled();
        const { results, degraded } = await memory.recall({ text: 'fact number 42' });
        expect(degraded).toEqual([]);
        expect(results[0]?.why.dense).not.toBeNull();
        expect(await store.stats()).toMatchObject({ entries: 100, vectors: 100, dimensions: 96 });
      });

      it('re-indexes on demand and reports how far it is', async () => {
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

      it('takes any text that is text', async () => {
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
  });
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
