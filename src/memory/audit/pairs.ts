/** Finds the pairs of entries that are worth comparing: neighbours in meaning, and entries that share rare words. */
import type { Cancel } from '../../base/cancel.ts';
import { throwIfCancelled } from '../../base/cancel.ts';
import type { SearchIndex } from '../index/search-index.ts';
import type { EmbeddingModel } from '../truth/models.ts';
import { unpackVector } from '../truth/vector-blob.ts';
import { threadYielder } from '../yield-thread.ts';
import type { Comparable } from './compare.ts';

export interface AuditedEntry extends Comparable {
  readonly id: number;
  readonly vector: Uint8Array | null;
}

export interface Pair {
  readonly older: number;
  readonly newer: number;
  /** 0 to 1 above unrelated texts of the model; null if the pair was found by words only. */
  readonly likeness: number | null;
}

export interface Meaning {
  readonly index: SearchIndex;
  readonly model: EmbeddingModel;
  readonly namespace: string;
  readonly now: number;
}

/** A word of more entries than this finds nothing. */
const COMMON_WORD = 200;
const NEIGHBOURS = 8;
const LEAST_LIKENESS = 0.5;
/** Two shared rare words, or all words of a shorter entry. */
const SHARED_WORDS = 2;

export async function* likelyPairs(
  entries: readonly AuditedEntry[],
  meaning: Meaning | null,
  { signal }: Cancel,
): AsyncGenerator<Pair> {
  const breathe = threadYielder();
  const known = new Set(entries.map(({ id }) => id));
  const seen = new Set<string>();
  for (const entry of entries) {
    throwIfCancelled(signal, 'The audit');
    await breathe();
    for (const { id, likeness } of await alike(entry, meaning)) {
      const [older, newer] = [Math.min(id, entry.id), Math.max(id, entry.id)];
      if (older === newer || !known.has(id) || seen.has(`${older} ${newer}`)) continue;
      seen.add(`${older} ${newer}`);
      yield { older, newer, likeness };
    }
  }
  for await (const { older, newer } of sharingWords(entries, signal)) {
    if (!seen.has(`${older} ${newer}`)) yield { older, newer, likeness: null };
  }
}

async function alike(
  { vector }: AuditedEntry,
  meaning: Meaning | null,
): Promise<{ id: number; likeness: number }[]> {
  if (meaning === null || vector === null) return [];
  const { index, model, namespace, now } = meaning;
  const query = unpackVector(vector, model.centre);
  const search = { namespace, filter: {}, now, depth: NEIGHBOURS };
  const { hits } = await index.dense({ ...search, vector: query, model: model.id });
  return hits
    .map(({ id, score }) => ({ id, likeness: (score - model.background) / (1 - model.background) }))
    .filter(({ likeness }) => likeness >= LEAST_LIKENESS);
}

async function* sharingWords(
  entries: readonly AuditedEntry[],
  signal: AbortSignal | undefined,
): AsyncGenerator<{ older: number; newer: number }> {
  const breathe = threadYielder();
  const withWord = new Map<string, number[]>();
  for (const { id, stems } of entries) {
    throwIfCancelled(signal, 'The audit');
    await breathe();
    const shared = new Map<number, number>();
    for (const stem of stems) {
      const ids = withWord.get(stem) ?? [];
      withWord.set(stem, ids);
      if (ids.length < COMMON_WORD) for (const each of ids) shared.set(each, (shared.get(each) ?? 0) + 1);
      ids.push(id);
    }
    for (const [older, count] of shared) {
      if (count >= Math.min(SHARED_WORDS, stems.size)) yield { older, newer: id };
    }
  }
}
