/** The vector index alone against exact search: recall@10 and time, with and without a filter, beside Qdrant. */
import { QdrantClient } from '@qdrant/js-client-rest';
import { limits } from '../../src/core/memory.ts';
import { NamespaceIndex } from '../../src/memory/index/embedded/namespace-index.ts';
import { type Model, registerModel } from '../../src/memory/truth/models.ts';
import { Truth } from '../../src/memory/truth/truth.ts';
import { openVector, packVector } from '../../src/memory/truth/vector-blob.ts';
import { qdrantMissing, startQdrant } from '../../test/memory/qdrant-server.ts';
import { temporaryFolder } from '../../test/memory/temporary-folder.ts';
import { openModel } from './bench-memory.ts';
import { type Corpus, makeCorpus } from './corpus.ts';
import { keep, round, type Timing, timed, timing } from './measure.ts';
import { loadSciFact } from './scifact.ts';

export interface VectorResult extends Timing {
  readonly engine: string;
  readonly entries: number;
  readonly filter: 'none' | '2 %';
  readonly recall10: number;
}

const SIZES = [10_000, 100_000, 1_000_000];
/** Loading a million points into a server takes longer than the rest of the bench. */
const LARGEST_IN_QDRANT = 100_000;
const WARM_UP = 10;
const ASKED = 110;
/** Every fiftieth entry is rare. */
const RARE = 50;

export async function benchVectors(folder: string | undefined): Promise<VectorResult[]> {
  await using embedder = await openModel();
  const corpus = await makeCorpus(loadSciFact(folder), embedder);
  using files = temporaryFolder();
  using truth = new Truth(`${files.path}/model.db`);
  const model = await registerModel(truth, embedder);
  const results: VectorResult[] = [];
  for (const entries of SIZES) {
    const vectors = new Float32Array(entries * model.dimensions);
    for (let i = 0; i < entries; i += 1) vectors.set(corpus.item(i).vector, i * model.dimensions);
    results.push(...embedded(corpus, model, vectors, entries));
    if (entries <= LARGEST_IN_QDRANT && qdrantMissing === null)
      results.push(...(await qdrant(corpus, model, vectors, entries)));
  }
  console.table(results);
  keep('memory-vectors', { model: embedder.model, results });
  return results;
}

function embedded(corpus: Corpus, model: Model, vectors: Float32Array, entries: number): VectorResult[] {
  const index = new NamespaceIndex(model, entries);
  const kept: Uint8Array[] = [];
  for (let i = 0; i < entries; i += 1) {
    const blob = packVector(vectors.subarray(i * model.dimensions, (i + 1) * model.dimensions), model.centre);
    kept.push(blob);
    index.put({
      id: i,
      validUntil: null,
      labels: [`category:${i % RARE === 0 ? 'rare' : 'core'}`],
      words: new Uint8Array(),
      vectors: [blob],
    });
  }
  return (['none', '2 %'] as const).map((filter) => {
    const times: number[] = [];
    let found = 0;
    for (const [i, { vector }] of corpus.queries.slice(0, ASKED).entries()) {
      const search = {
        namespace: 'bench',
        filter: filter === 'none' ? {} : { category: 'rare' },
        now: 0,
        depth: limits.depth,
        vector,
        model: model.id,
      };
      const start = performance.now();
      const { hits } = index.dense(search, (id) => product(vector, kept[id]));
      const took = performance.now() - start;
      if (i < WARM_UP) continue;
      times.push(took);
      found += overlap(
        hits.map(({ id }) => id),
        exact(vectors, vector, entries, filter),
      );
    }
    return {
      engine: 'embedded',
      entries,
      filter,
      recall10: round(found / (times.length * 10)),
      ...timing(times),
    };
  });
}

async function qdrant(
  corpus: Corpus,
  model: Model,
  vectors: Float32Array,
  entries: number,
): Promise<VectorResult[]> {
  await using server = await startQdrant();
  const client = new QdrantClient({ url: server.url, checkCompatibility: false });
  await client.createCollection('bench', { vectors: { size: model.dimensions, distance: 'Cosine' } });
  await client.createPayloadIndex('bench', { field_name: 'category', field_schema: 'keyword', wait: true });
  for (let at = 0; at < entries; at += 1_000) {
    const points = Array.from({ length: Math.min(1_000, entries - at) }, (_, i) => ({
      id: at + i,
      vector: [...vectors.subarray((at + i) * model.dimensions, (at + i + 1) * model.dimensions)],
      payload: { category: (at + i) % RARE === 0 ? 'rare' : 'core' },
    }));
    await client.upsert('bench', { points, wait: true });
  }
  while ((await client.getCollection('bench')).status !== 'green')
    await new Promise((resolve) => setTimeout(resolve, 500));
  const results: VectorResult[] = [];
  for (const filter of ['none', '2 %'] as const) {
    const times: number[] = [];
    let found = 0;
    for (const [i, { vector }] of corpus.queries.slice(0, ASKED).entries()) {
      let ids: number[] = [];
      const took = await timed(async () => {
        const { points } = await client.query('bench', {
          query: [...vector],
          limit: limits.depth,
          ...(filter === 'none' ? {} : { filter: { must: [{ key: 'category', match: { value: 'rare' } }] } }),
        });
        ids = points.map(({ id }) => Number(id));
      });
      if (i < WARM_UP) continue;
      times.push(took);
      found += overlap(ids, exact(vectors, vector, entries, filter));
    }
    results.push({
      engine: 'Qdrant',
      entries,
      filter,
      recall10: round(found / (times.length * 10)),
      ...timing(times),
    });
  }
  return results;
}

/** The ten nearest by the full vectors. */
function exact(
  vectors: Float32Array,
  query: Float32Array,
  entries: number,
  filter: VectorResult['filter'],
): Set<number> {
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

function product(query: Float32Array, blob: Uint8Array | undefined): number {
  if (blob === undefined) return 0;
  const { scale, steps } = openVector(blob);
  return steps.reduce((sum, step, i) => sum + step * (query[i] ?? 0), 0) * scale;
}
