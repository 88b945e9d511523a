/** Whole calls over 100,000 entries: recall with the embedding of the query, store, and what an entry costs. */
import type { Embedder, Memory, MemoryStore } from '../../src/core/memory.ts';
import { openMemory } from '../../src/memory/open-memory.ts';
import { qdrantMissing, startQdrant } from '../../test/memory/qdrant-server.ts';
import { temporaryFolder } from '../../test/memory/temporary-folder.ts';
import { openModel } from './bench-memory.ts';
import { type Corpus, makeCorpus } from './corpus.ts';
import { keep, round, type Timing, timed, timing } from './measure.ts';
import { loadSciFact } from './scifact.ts';

export interface RecallResult {
  readonly engine: string;
  readonly entries: number;
  readonly recall: Timing;
  readonly recallFiltered: Timing;
  readonly embedQuery: Timing;
  readonly store: Timing;
  readonly firstRecallMs: number;
  readonly diskBytesPerEntry: number;
  readonly index: string;
}

const ENTRIES = 100_000;
const BATCH = 1_000;
const STORED = 200;

export async function benchRecall(folder: string | undefined): Promise<RecallResult[]> {
  await using model = await openModel();
  const corpus = await makeCorpus(loadSciFact(folder), model);
  const results: RecallResult[] = [];
  using files = temporaryFolder();
  const embedder = prepared(model, corpus);
  {
    await using store = openMemory({ file: `${files.path}/sqlite.db`, embedder });
    await fill(store.in('bench'), corpus);
  }
  // Opened again, so that loading is part of the first recall.
  {
    await using store = openMemory({ file: `${files.path}/sqlite.db`, embedder });
    results.push(await measure(store, corpus, model));
  }
  if (qdrantMissing === null) {
    await using server = await startQdrant();
    await using store = openMemory({
      file: `${files.path}/sqlite.db`,
      embedder,
      qdrant: { url: server.url, timeoutMs: 60_000 },
    });
    await store.settled();
    results.push(await measure(store, corpus, model));
  }
  console.dir(results, { depth: 4 });
  keep('memory-recall', { model: model.model, results });
  return results;
}

/** Knows the vectors of the corpus; everything else goes to the model. */
function prepared(model: Embedder, corpus: Corpus): Embedder {
  return {
    ...model,
    async embed(texts, purpose, options) {
      const numbers = texts.map((text) => /#(\d+)$/.exec(text)?.[1]);
      if (numbers.some((number) => number === undefined)) return model.embed(texts, purpose, options);
      return numbers.map((number) => corpus.item(Number(number)).vector);
    },
  };
}

async function fill(memory: Memory, corpus: Corpus): Promise<void> {
  for (let at = 0; at < ENTRIES; at += BATCH) {
    process.stderr.write(`\rstoring ${at} of ${ENTRIES} `);
    await memory.storeMany(
      Array.from({ length: BATCH }, (_, i) => ({
        key: `e${at + i}`,
        content: corpus.item(at + i).text,
        category: i % 50 === 0 ? 'daily' : 'core',
        source: 'bench',
      })),
    );
  }
  process.stderr.write('\n');
}

async function measure(store: MemoryStore, corpus: Corpus, model: Embedder): Promise<RecallResult> {
  const memory = store.in('bench');
  const firstRecallMs = await timed(() => memory.recall({ text: 'the very first question' }));
  const recall = async (filter: object, suffix: string) => {
    const times: number[] = [];
    // Changed a little, so that no query is in the cache.
    for (const { text } of corpus.queries)
      times.push(await timed(() => memory.recall({ text: `${text}${suffix}`, ...filter })));
    return timing(times.slice(50));
  };
  const whole = await recall({}, '?');
  const filtered = await recall({ category: 'daily' }, '!');
  const embedTimes: number[] = [];
  for (const { text } of corpus.queries.slice(0, 200))
    embedTimes.push(await timed(() => model.embed([`${text} .`], 'query')));
  const storeTimes: number[] = [];
  for (let i = 0; i < STORED; i += 1) {
    const content = `${corpus.item(1_000_000 + i).text.slice(0, 160)} (new)`;
    storeTimes.push(
      await timed(() => memory.store({ content, category: 'core', source: `${store.name} bench ${i}` })),
    );
  }
  const { bytesOnDisk, entries } = await store.stats();
  const { parts } = await store.health();
  return {
    engine: store.name,
    entries,
    recall: whole,
    recallFiltered: filtered,
    embedQuery: timing(embedTimes),
    store: timing(storeTimes),
    firstRecallMs: round(firstRecallMs, 0),
    diskBytesPerEntry: round(bytesOnDisk / entries, 0),
    index: parts.find(({ name }) => name === 'index')?.detail ?? '',
  };
}
