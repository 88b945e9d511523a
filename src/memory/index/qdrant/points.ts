/** Converts between entries and Qdrant's points. */
import { createHash } from 'node:crypto';
import type { Schemas } from '@qdrant/js-client-rest';
import { wordHash } from '../../../base/words.ts';
import type { LocatedEntry } from '../../truth/indexed-entries.ts';
import type { EmbeddingModel } from '../../truth/models.ts';
import { unpackVector } from '../../truth/vector-blob.ts';
import { unpackWords } from '../../truth/word-blob.ts';
import { NEAR_WEIGHT, saturation } from '../bm25.ts';
import type { DenseSearch, Hit, KeywordSearch } from '../search-index.ts';

/** Qdrant weighs words without knowing the average length; with a weak length norm a fixed one is good enough. */
const AVERAGE_LENGTH = 40;

/** An entry that waits for the embedder has one point with words only. */
export function pointsOf(entry: LocatedEntry, model: EmbeddingModel): Schemas['PointStruct'][] {
  const words = { words: sparseWords(entry) };
  const count = Math.max(1, entry.vectors.length);
  return Array.from({ length: count }, (_, chunk) => {
    const vector = entry.vectors[chunk];
    return {
      id: pointId(entry, chunk),
      vector: {
        ...(chunk === 0 ? words : {}),
        ...(vector === undefined ? {} : { meaning: [...unpackVector(vector, model.centre)] }),
      },
      payload: {
        entry: entry.id,
        chunk,
        namespace: entry.namespace,
        labels: entry.labels,
        ...(entry.validUntil === null ? {} : { validUntil: entry.validUntil }),
      },
    };
  });
}

/** A UUID of namespace, key and chunk. Points read back are compared with the namespace and the truth. */
function pointId({ namespace, key }: LocatedEntry, chunk: number): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([namespace, key, chunk]))
    .digest('hex');
  // Version 8: a custom hash.
  const parts = [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    `8${hash.slice(17, 20)}`,
    hash.slice(20, 32),
  ];
  return parts.join('-');
}

/** An entry's own words, and the words around it under other numbers, with a lower weight. */
function sparseWords(entry: LocatedEntry): { indices: number[]; values: number[] } {
  const weights = new Map<number, number>();
  for (const [field, weight, numberOf] of [
    [entry.near, NEAR_WEIGHT, nearNumber],
    [entry.words, 1, (hash: number) => hash],
  ] as const) {
    const { hashes, counts } = unpackWords(field);
    const length = counts.reduce((sum, count) => sum + count, 0);
    for (const [i, hash] of hashes.entries())
      weights.set(numberOf(hash), weight * saturation(counts[i] ?? 0, length, AVERAGE_LENGTH));
  }
  return { indices: [...weights.keys()], values: [...weights.values()] };
}

/** The number of a word around an entry, different from that of the same word inside one. */
function nearNumber(hash: number): number {
  return (hash ^ 0x5bd1e995) >>> 0;
}

export function queryWords(words: readonly string[]): { indices: number[]; values: number[] } {
  const own = words.map(wordHash);
  const indices = [...new Set([...own, ...own.map(nearNumber)])];
  return { indices, values: indices.map(() => 1) };
}

/** Null for a point that was not requested. */
export function hitOf(point: Schemas['ScoredPoint'], search: DenseSearch | KeywordSearch): Hit | null {
  const { entry, namespace } = point.payload ?? {};
  if (typeof entry !== 'number' || namespace !== search.namespace) return null;
  return { id: entry, score: point.score };
}
