/** The vector index alone against exact search: recall@10 and time, with and without a filter, beside Qdrant. */
import { setTimeout as delay } from 'node:timers/promises';
import { QdrantClient } from '@qdrant/js-client-rest';
import { NamespaceIndex } from '../../src/memory/index/embedded/namespace-index.ts';
import { PLAIN_ANSWERS } from '../../src/memory/index/qdrant/qdrant-index.ts';
import { type EmbeddingModel, registerModel } from '../../src/memory/truth/models.ts';
import { Truth } from '../../src/memory/truth/truth.ts';
import { packVector } from '../../src/memory/truth/vector-blob.ts';
import { type Embedder, memoryLimits } from '../../src/seams/memory.ts';
import { qdrantMissing, startQdrant } from '../../test/memory/qdrant-server.ts';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { openModel } from './bench-memory.ts';
import { type Corpus, makeCorpus } from './corpus.ts';
import type { BenchData } from './data.ts';
import { round, timed, timing } from './measure.ts';
import { quietQdrant } from './quiet-qdrant.ts';
import { keepPart, type Parts } from './results.ts';

type VectorResult = Parts['vectors']['results'][number];

const SIZES = [10_000, 100_000, 1_000_000];
/** Filling a server with a million points takes longer than the rest of the bench: a smaller number leaves that out. */
const LARGEST_IN_QDRANT = Number(process.env.GEODE_BENCH_LARGEST ?? SIZES.at(-1));
const POINTS_PER_CALL = 1_000;
const MOST_TRIES = 5;
const CALLS_AT_ONCE = 4;
/** The server's default. */
const GRAPH_FROM_KB = 10_000;
const WARM_UP = 10;
/** How many queries are compared with exact search, which takes a second each at a million. */
const COMPARED = 100;
/** Every fiftieth entry is rare. */
const RARE = 50;
const filters = ['none', '2 %'] as const;

export async function benchVectors({ scifact }: BenchData): Promise<void> {
  await using model = await openModel();
  const corpus = await makeCorpus(scifact, model);
  const space = await spaceOf(model);
  const results = SIZES.flatMap((entries) =>
    embedded(corpus, space, vectorsOf(corpus, space, entries), entries),
  );
  console.table(results);
  keepPart('vectors', { model: model.model, results });
}

export async function benchVectorsInQdrant({ scifact }: BenchData): Promise<void> {
  if (qdrantMissing !== null) return console.log(`vectors-qdrant: left out, ${qdrantMissing}`);
  await using model = await openModel();
  const corpus = await makeCorpus(scifact, model);
  const space = await spaceOf(model);
  const results: VectorResult[] = [];
  for (const entries of SIZES.filter((size) => size <= LARGEST_IN_QDRANT))
    results.push(...(await qdrant(corpus, space, vectorsOf(corpus, space, entries), entries)));
  console.table(results);
  keepPart('vectors-qdrant', { model: model.model, results });
}

/** The model as memory knows it, with its centre. */
async function spaceOf(embedder: Embedder): Promise<EmbeddingModel> {
  using files = temporaryFolder();
  using truth = new Truth(`${files.path}/model.db`);
  return await registerModel(truth, embedder);
}

function vectorsOf(corpus: Corpus, { dimensions }: EmbeddingModel, entries: number): Float32Array {
  const vectors = new Float32Array(entries * dimensions);
  for (let i = 0; i < entries; i += 1) vectors.set(corpus.item(i).vector, i * dimensions);
  return vectors;
}

function embedded(
  corpus: Corpus,
  model: EmbeddingModel,
  vectors: Float32Array,
  entries: number,
): VectorResult[] {
  const index = new NamespaceIndex(model, entries);
  for (let i = 0; i < entries; i += 1) {
    const blob = packVector(vectors.subarray(i * model.dimensions, (i + 1) * model.dimensions), model.centre);
    index.put({
      id: i,
      validUntil: null,
      labels: [`category:${i % RARE === 0 ? 'rare' : 'core'}`],
      words: new Uint8Array(),
      near: new Uint8Array(),
      vectors: [blob],
    });
  }
  return filters.map((filter) => {
    const times: number[] = [];
    const answers: number[][] = [];
    for (const { vector } of corpus.queries) {
      const search = {
        namespace: 'bench',
        filter: filter === 'none' ? {} : { category: 'rare' },
        now: 0,
        depth: memoryLimits.depth,
        vector,
        model: model.id,
      };
      const start = performance.now();
      const { hits } = index.dense(search);
      times.push(performance.now() - start);
      answers.push(hits.map(({ id }) => id));
    }
    return {
      engine: 'embedded',
      entries,
      filter,
      recall10: recall10(answers, corpus, vectors, filter),
      ...timing(times.slice(WARM_UP)),
      bytesPerEntry: round(index.bytes / entries, 0),
    };
  });
}

async function qdrant(
  corpus: Corpus,
  model: EmbeddingModel,
  vectors: Float32Array,
  entries: number,
): Promise<VectorResult[]> {
  await using server = await startQdrant();
  const client = new QdrantClient({ url: server.url, checkCompatibility: false, headers: PLAIN_ANSWERS });
  // As its makers say for many points at once: all of them first, then the graph.
  await client.createCollection('bench', {
    vectors: { size: model.dimensions, distance: 'Cosine' },
    optimizers_config: { indexing_threshold: 0 },
  });
  await client.createPayloadIndex('bench', { field_name: 'category', field_schema: 'keyword', wait: true });
  await fillQdrant(client, vectors, model.dimensions, entries);
  const results: VectorResult[] = [];
  for (const filter of filters) {
    const times: number[] = [];
    const answers: number[][] = [];
    for (const { vector } of corpus.queries) {
      let ids: number[] = [];
      const took = await timed(async () => {
        const { points } = await client.query('bench', {
          query: [...vector],
          limit: memoryLimits.depth,
          ...(filter === 'none' ? {} : { filter: { must: [{ key: 'category', match: { value: 'rare' } }] } }),
        });
        ids = points.map(({ id }) => Number(id));
      });
      times.push(took);
      answers.push(ids);
    }
    results.push({
      engine: 'Qdrant',
      entries,
      filter,
      recall10: recall10(answers, corpus, vectors, filter),
      ...timing(times.slice(WARM_UP)),
    });
  }
  return results;
}

async function fillQdrant(
  client: QdrantClient,
  vectors: Float32Array,
  dimensions: number,
  entries: number,
): Promise<void> {
  let next = 0;
  const fill = async () => {
    for (let at = next; at < entries; at = next) {
      next += POINTS_PER_CALL;
      process.stderr.write(`\rQdrant: ${at} of ${entries} `);
      const points = Array.from({ length: Math.min(POINTS_PER_CALL, entries - at) }, (_, i) => ({
        id: at + i,
        vector: Array.from(vectors.subarray((at + i) * dimensions, (at + i + 1) * dimensions), sixDigits),
        payload: { category: (at + i) % RARE === 0 ? 'rare' : 'core' },
      }));
      await insistently(() => client.upsert('bench', { points, wait: true }));
    }
  };
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, fill));
  await client.updateCollection('bench', { optimizers_config: { indexing_threshold: GRAPH_FROM_KB } });
  await quietQdrant(client);
  process.stderr.write('\n');
}

/** A third of the bytes of a 32-bit number that is written out as if it had 64. */
function sixDigits(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}

/** A server closes a connection that was idle, also in the moment in which the next call is sent over it. */
async function insistently(call: () => Promise<unknown>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await call();
      return;
    } catch (thrown) {
      if (tries === MOST_TRIES) throw thrown;
      await delay(500);
    }
  }
}

/** Afterwards, because an exact search throws everything else out of the processor's caches. */
function recall10(
  answers: readonly (readonly number[])[],
  corpus: Corpus,
  vectors: Float32Array,
  filter: VectorResult['filter'],
): number {
  const found = corpus.queries
    .slice(0, COMPARED)
    .reduce((sum, { vector }, i) => sum + overlap(answers[i] ?? [], exact(vectors, vector, filter)), 0);
  return round(found / (COMPARED * 10));
}

/** The ten nearest by the full vectors. */
function exact(vectors: Float32Array, query: Float32Array, filter: VectorResult['filter']): Set<number> {
  const entries = vectors.length / query.length;
  let best: { id: number; score: number }[] = [];
  let bar = Number.NEGATIVE_INFINITY;
  for (let id = 0; id < entries; id += filter === 'none' ? 1 : RARE) {
    const from = id * query.length;
    let score = 0;
    for (let i = 0; i < query.length; i += 1) score += (query[i] ?? 0) * (vectors[from + i] ?? 0);
    if (score <= bar) continue;
    best.push({ id, score });
    if (best.length < 100) continue;
    best = best.sort((a, b) => b.score - a.score).slice(0, 10);
    bar = best[9]?.score ?? bar;
  }
  return new Set(
    best
      .sort((a, b) => b.score - a.score)
      .slice(0, 10)
      .map(({ id }) => id),
  );
}

function overlap(found: readonly number[], wanted: ReadonlySet<number>): number {
  return found.slice(0, 10).filter((id) => wanted.has(id)).length;
}
