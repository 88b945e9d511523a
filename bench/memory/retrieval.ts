/** Retrieval sets, and how well a memory does on one: nDCG@10, whole, by each half alone, and by RRF-60. */
import type { Fusion, Memory } from '../../src/seams/memory.ts';
import { ndcg10, round } from './measure.ts';

export interface RetrievalSet {
  readonly documents: readonly RetrievalDocument[];
  readonly queries: readonly RetrievalQuery[];
}

export interface RetrievalDocument {
  readonly id: string;
  readonly text: string;
  /** Where it stands among others, where the set knows. */
  readonly position?: { readonly thread: string; readonly order: number };
  readonly date?: Date;
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

/** `declared`: with what the set knows about where each document stands, and when. */
export async function storeDocuments(
  memory: Memory,
  { documents }: RetrievalSet,
  places: 'declared' | 'unsaid' = 'unsaid',
): Promise<void> {
  for (let at = 0; at < documents.length; at += BATCH) {
    const batch = documents.slice(at, at + BATCH);
    await memory.storeMany(
      batch.map(({ id, text, position, date }) => ({
        key: id,
        content: text,
        category: 'core',
        source: 'a retrieval set',
        ...(places === 'declared' && { ...position, ...(date && { date }) }),
      })),
    );
  }
}

export async function quality(
  memory: Memory,
  queries: readonly RetrievalQuery[],
  fusion: Fusion,
): Promise<number> {
  return mean(await scores(memory, queries, fusion));
}

/** nDCG@10 of each query. */
export async function scores(
  memory: Memory,
  queries: readonly RetrievalQuery[],
  fusion: Fusion,
): Promise<number[]> {
  const found: number[] = [];
  for (const { text, relevant } of queries) {
    const { results } = await memory.recall({ text, fusion });
    found.push(
      ndcg10(
        results.map(({ entry }) => entry.key),
        relevant,
      ),
    );
  }
  return found;
}

export function mean(values: readonly number[]): number {
  return round(values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length), 4);
}
