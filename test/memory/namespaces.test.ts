import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openMemory } from '../../src/memory/open-memory.ts';
import type { NewEntry } from '../../src/seams/memory.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { wordEmbedder } from './word-embedder.ts';

const namespace = fc.constantFrom('a', 'b', 'a/b', 'A', 'a ', 'n%', 'a"b', "a'b", 'ä');
const word = fc.constantFrom('apple', 'pear', 'plum', 'fig', 'OR', 'namespace', 'n%', '"');
const key = fc.constantFrom('k', 'k/1', 'a/b', 'apple', '🔑');
const stored = fc.record({
  namespace,
  key: fc.option(key, { nil: undefined }),
  content: fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => words.join(' ')),
  category: fc.constantFrom('core', 'daily', 'mine'),
  tags: fc.array(word, { maxLength: 2 }),
  identifiers: fc.array(word, { maxLength: 1 }),
});
const asked = fc.record({
  namespace,
  text: fc.oneof(word, key),
  category: fc.option(fc.constantFrom('core', 'daily'), { nil: undefined }),
  tags: fc.option(fc.array(word, { maxLength: 2 }), { nil: undefined }),
  forget: fc.boolean(),
});

describe('namespaces never leak (MEM-6, SEC-2)', () => {
  it('when random entries are stored, recalled, listed, counted or forgotten in another namespace', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(stored, { minLength: 1, maxLength: 25 }),
        fc.array(asked, { maxLength: 12 }),
        async (entries, queries) => {
          using folder = temporaryFolder();
          await using store = openMemory({ file: `${folder.path}/m.db`, embedder: wordEmbedder() });
          const owners = new Map<string, Set<string>>();
          for (const { namespace: owner, ...fields } of entries) {
            const source = `from ${owner}`;
            const { entry } = await store.in(owner).store(defined({ ...fields, source }));
            expect(entry.sources).toEqual([source]);
            owners.set(owner, (owners.get(owner) ?? new Set()).add(entry.key));
          }
          for (const { namespace: asker, forget, text, ...filter } of queries) {
            const memory = store.in(asker);
            const own = owners.get(asker) ?? new Set();
            if (forget) expect(await memory.forget(text)).toBe(own.delete(text));
            const { results, total } = await memory.recall(defined({ text, ...filter, limit: 100 }));
            expect(results).toHaveLength(total);
            const { entries: listed, total: all } = await memory.list({ limit: 100 });
            expect(all).toBe(own.size);
            for (const entry of [...listed, ...results.map((result) => result.entry)]) {
              expect(entry.sources).toEqual([`from ${asker}`]);
              expect(own.has(entry.key)).toBe(true);
            }
            expect([...(await memory.count()).values()].reduce((a, b) => a + b, 0)).toBe(own.size);
          }
        },
      ),
      { numRuns: 25 },
    );
  }, 120_000);
});

/** Without the fields that are undefined: an optional field is there or it is not. */
function defined<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } & NewEntry;
function defined(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
