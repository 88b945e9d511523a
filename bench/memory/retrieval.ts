/** Retrieval sets, and how well a memory does on one: nDCG@10, whole, by each half alone, and by RRF-60. */
import type { Fusion, Memory } from '../../src/core/memory.ts';
import { ndcg10, round } from './measure.ts';

export interface RetrievalSet {
  readonly documents: readonly { readonly id: string; readonly text: string }[];
  readonly queries: readonly RetrievalQuery[];
}

export interface RetrievalQuery {
  readonly text: string;
  /** The ids of the documents that answer it. */
  readonly relevant: ReadonlySet<string>;
}

export const fusions = {
  hybrid: { kind: 'weighted' },
  'RRF-60': { kind: 'rrf', k: 60 },
  'meaning alone': { kind: 'weighted', dense: 1 },
  'words alone': { kind: 'weighted', dense: 0 },
} as const satisfies Record<string, Fusion>;

const BATCH = 500;

export async function storeDocuments(memory: Memory, { documents }: RetrievalSet): Promise<void> {
  for (let at = 0; at < documents.length; at += BATCH) {
    const batch = documents.slice(at, at + BATCH);
    await memory.storeMany(
      batch.map(({ id, text }) => ({ key: id, content: text, category: 'core', source: 'a retrieval set' })),
    );
  }
}

export async function quality(
  memory: Memory,
  queries: readonly RetrievalQuery[],
  fusion: Fusion,
): Promise<number> {
  let sum = 0;
  for (const { text, relevant } of queries) {
    const { results } = await memory.recall({ text, fusion });
    sum += ndcg10(
      results.map(({ entry }) => entry.key),
      relevant,
    );
  }
  return round(sum / queries.length, 4);
}
