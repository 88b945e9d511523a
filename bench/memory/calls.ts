/** Whole calls over 100,000 entries: recall with the embedding of the query, store, and what an entry costs. */
import { QdrantClient } from '@qdrant/js-client-rest';
import type { QdrantOptions } from '../../src/memory/index/qdrant/qdrant-index.ts';
import { openMemory } from '../../src/memory/open-memory.ts';
import type { Embedder, Memory, MemoryStore } from '../../src/seams/memory.ts';
import { qdrantMissing, startQdrant } from '../../test/memory/qdrant-server.ts';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { knowing, openModel } from './bench-memory.ts';
import { type Corpus, makeCorpus } from './corpus.ts';
import type { BenchData } from './data.ts';
import { medianRound, round, type Timing, timed, timing } from './measure.ts';
import { quietQdrant } from './quiet-qdrant.ts';
import { keepPart, type Parts } from './results.ts';

const ENTRIES = 100_000;
const BATCH = 1_000;
const STORED = 300;
const WARM_UP = 50;
/** Makes a query different in each round, so that none is in the cache. */
const ROUNDS = ['?', '!', '…', ' ?', ' !'];

export async function benchCalls({ scifact }: BenchData): Promise<void> {
  keepPart('calls', await calls(scifact, null));
}

export async function benchCallsInQdrant({ scifact }: BenchData): Promise<void> {
  if (qdrantMissing !== null) return console.log(`calls-qdrant: left out, ${qdrantMissing}`);
  await using server = await startQdrant();
  keepPart('calls-qdrant', await calls(scifact, { url: server.url, timeoutMs: 60_000 }));
}

type Calls = Omit<Parts['calls'], 'measuredOn' | 'load' | 'machine'>;

async function calls(scifact: BenchData['scifact'], qdrant: QdrantOptions | null): Promise<Calls> {
  await using model = await openModel();
  const corpus = await makeCorpus(scifact, model);
  using files = temporaryFolder();
  const embedder = knowing(model, (text) => {
    const number = /#(\d+)$/.exec(text)?.[1];
    return number === undefined ? undefined : corpus.item(Number(number)).vector;
  });
  const file = `${files.path}/memory.db`;
  {
    await using filling = openMemory({ file, embedder });
    await fill(filling, corpus);
  }
  // Opened again, so that loading is part of the first recall, and Qdrant gets all of it in one go.
  await using store = openMemory({ file, embedder, ...(qdrant === null ? {} : { qdrant }) });
  await store.settled();
  if (qdrant !== null) await quietQdrant(new QdrantClient({ url: qdrant.url, checkCompatibility: false }));
  const found = await measure(store, corpus, model);
  console.dir(found, { depth: 3 });
  return found;
}

async function fill(store: MemoryStore, corpus: Corpus): Promise<void> {
  const memory = store.in('bench');
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
  await store.settled();
  process.stderr.write('\n');
}

async function measure(store: MemoryStore, corpus: Corpus, model: Embedder): Promise<Calls> {
  const memory = store.in('bench');
  // The model is in memory before the index is, so that the difference is the index.
  await model.embed(['a warm-up'], 'query');
  const before = process.memoryUsage.rss();
  const firstRecallMs = await timed(() => memory.recall({ text: 'the first question after a start' }));
  const memoryBytesPerEntry = round((process.memoryUsage.rss() - before) / ENTRIES, 0);
  const recall = await inRounds(corpus.queries, (text) => memory.recall({ text }));
  const recallShort = await inRounds(corpus.shortQueries, (text) => memory.recall({ text }));
  const recallFiltered = await inRounds(corpus.queries, (text) =>
    memory.recall({ text: `${text} #`, category: 'daily' }),
  );
  const embedQuery = await inRounds(corpus.queries, (text) => model.embed([text], 'query'));
  const stored = await storeSome(memory, corpus);
  await store.settled();
  const { bytesOnDisk, entries } = await store.stats();
  return {
    model: model.model,
    engine: store.name,
    entries: ENTRIES,
    recall,
    recallShort,
    recallFiltered,
    embedQuery,
    store: timing(stored),
    firstRecallMs: round(firstRecallMs, 0),
    memoryBytesPerEntry,
    diskBytesPerEntry: round(bytesOnDisk / entries, 0),
  };
}

/** The median of the rounds counts, and all are kept. */
async function inRounds(
  queries: readonly { readonly text: string }[],
  ask: (text: string) => Promise<unknown>,
): Promise<Parts['calls']['recall']> {
  const rounds: Timing[] = [];
  for (const mark of ROUNDS) {
    const times: number[] = [];
    for (const { text } of queries) times.push(await timed(() => ask(`${text}${mark}`)));
    rounds.push(timing(times.slice(WARM_UP)));
  }
  return { ...medianRound(rounds), rounds: rounds.map(({ p50 }) => p50) };
}

/** New texts, embedded by the model behind the calls, one call after the other. */
async function storeSome(memory: Memory, corpus: Corpus): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < STORED; i += 1) {
    const content = `${corpus.item(1_000_000 + i).text.slice(0, 160)} (new)`;
    times.push(await timed(() => memory.store({ content, category: 'core', source: `bench ${i}` })));
  }
  return times;
}
