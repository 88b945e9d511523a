import { execFileSync } from 'node:child_process';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openMemory } from '../../src/memory/open-memory.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { wordEmbedder } from './word-embedder.ts';

const entry = (content: string, key?: string) => ({
  content,
  category: 'core',
  source: 'test',
  ...(key === undefined ? {} : { key }),
});

describe('the memory file', () => {
  let folder: ReturnType<typeof temporaryFolder>;
  beforeEach(() => {
    folder = temporaryFolder();
  });
  afterEach(() => folder[Symbol.dispose]());

  it('is shared by two stores: each finds the entries of the other', async () => {
    const file = `${folder.path}/m.db`;
    await using one = openMemory({ file, embedder: wordEmbedder() });
    await using other = openMemory({ file, embedder: wordEmbedder() });
    await one.in('a').store(entry('first', '1'));
    expect((await other.in('a').recall({ text: 'first' })).total).toBe(1);
    await Promise.all(
      [one, other].flatMap((store, s) =>
        Array.from({ length: 25 }, (_, i) => store.in('a').store(entry(`text ${s} ${i}`))),
      ),
    );
    for (const store of [one, other]) {
      expect((await store.in('a').recall({ text: 'text', limit: 100 })).total).toBe(51);
    }
    await other.in('a').forget('1');
    expect((await one.in('a').recall({ text: 'first', fusion: { kind: 'weighted', dense: 0 } })).total).toBe(
      0,
    );
  });

  it('answers 503 when both halves fail, never an empty list (MEM-4)', async () => {
    const file = `${folder.path}/m.db`;
    const embedder = wordEmbedder();
    await using store = openMemory({ file, embedder, qdrant: { url: 'http://127.0.0.1:9', timeoutMs: 500 } });
    await store.in('a').store(entry('apples'));
    embedder.down = 'no model';
    expect((await store.in('a').recall({ text: 'apples' })).degraded).toHaveLength(2);
    const vandal = new DatabaseSync(file);
    vandal.exec('DROP TABLE word_vocabulary; DROP TABLE word_index');
    vandal.close();
    await expect(store.in('a').recall({ text: 'apples' })).rejects.toMatchObject({
      code: 'memory_down',
      status: 503,
    });
  });

  it('is refused when a newer Geode wrote it or it is not a database', () => {
    const newer = `${folder.path}/newer.db`;
    const db = new DatabaseSync(newer);
    db.exec('PRAGMA user_version = 99');
    db.close();
    expect(() => openMemory({ file: newer, embedder: wordEmbedder() })).toThrow(/newer Geode/);
    const chapter = `${folder.path}/newer-chapter.db`;
    openMemory({ file: chapter, embedder: wordEmbedder() }).stop();
    const changed = new DatabaseSync(chapter);
    changed.exec("UPDATE chapters SET version = 9 WHERE name = 'memory'");
    changed.close();
    expect(() => openMemory({ file: chapter, embedder: wordEmbedder() })).toThrow(/newer Geode/);
    expect(() => openMemory({ file: folder.path, embedder: wordEmbedder() })).toThrow(/memory file/);
  });

  it('takes over a file of an earlier format, with its pending entries', async () => {
    const file = `${folder.path}/old.db`;
    {
      await using store = openMemory({ file, embedder: wordEmbedder(), indexing: 'on demand' });
      await store.in('a').store(entry('an old fact', 'old'));
    }
    const db = new DatabaseSync(file);
    for (const name of ['begins', 'changes', 'ends']) db.exec(`DROP TRIGGER debt_${name}`);
    db.exec('DROP VIEW entry_view; DROP INDEX entries_in_thread; DROP TABLE debts; DROP TABLE uses');
    for (const column of ['thread', 'position', 'date', 'context', 'near'])
      db.exec(`ALTER TABLE entries DROP COLUMN ${column}`);
    db.exec(`CREATE VIEW entry_view AS SELECT * FROM entries; UPDATE entries SET model = NULL`);
    db.exec('DROP TABLE chapters; PRAGMA user_version = 2');
    db.close();
    await using store = openMemory({ file, embedder: wordEmbedder(), pendingText: 20 });
    const memory = store.in('a');
    expect(await memory.get('old')).toMatchObject({ content: 'an old fact', thread: null, date: null });
    await store.settled();
    await memory.store({ ...entry('a new one', 'new'), thread: 't' });
    expect((await memory.recall({ text: 'fact' })).results[0]?.entry.key).toBe('old');
  });

  const canMount = process.platform === 'linux' && process.getuid?.() === 0;
  it.skipIf(!canMount)(
    'refuses to store on a full disk, loses no entry, and stores again when space is free (needs root to mount)',
    async () => {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder.path]);
      try {
        await using store = openMemory({ file: `${folder.path}/m.db`, embedder: wordEmbedder() });
        const memory = store.in('a');
        const stored: string[] = [];
        const failure = await (async () => {
          for (let i = 0; i < 10_000; i += 1) {
            const { entry: kept } = await memory.store(entry(`fact ${i} ${'padding '.repeat(200)}`, `k${i}`));
            stored.push(kept.key);
          }
          return null;
        })().catch((thrown: unknown) => thrown);
        expect(failure).toMatchObject({ code: 'disk_full' });
        expect((await memory.list({ limit: 1 })).total).toBe(stored.length);
        expect((await memory.recall({ text: 'fact' })).total).toBe(Math.min(stored.length, 200));
        execFileSync('mount', ['-o', 'remount,size=8m', folder.path]);
        expect((await memory.store(entry('there is room again'))).outcome).toBe('created');
      } finally {
        execFileSync('umount', ['-l', folder.path]);
      }
    },
    240_000,
  );
});
