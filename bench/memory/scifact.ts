/** BEIR's SciFact: scientific claims, and the abstracts that settle them. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { RetrievalQuery, RetrievalSet } from './retrieval.ts';

export interface SciFact {
  readonly documents: RetrievalSet['documents'];
  /** For each split the claims with the ids of their abstracts. */
  readonly claims: Readonly<Record<'train' | 'test', readonly RetrievalQuery[]>>;
}

const line = z.object({ _id: z.string(), title: z.string().optional(), text: z.string() });

export function loadSciFact(folder: string): SciFact {
  if (!existsSync(join(folder, 'corpus.jsonl'))) {
    throw new Error(
      `SciFact is not in ${folder}. Get it from https://public.ukp.informatik.tu-darmstadt.de/thakur/BEIR/datasets/scifact.zip and unpack it there.`,
    );
  }
  const lines = (file: string) =>
    readFileSync(join(folder, file), 'utf8')
      .trim()
      .split('\n')
      .map((text) => line.parse(JSON.parse(text)));
  const queries = new Map(lines('queries.jsonl').map(({ _id, text }) => [_id, text]));
  const claims = (split: string) => {
    const relevant = new Map<string, Set<string>>();
    for (const row of readFileSync(join(folder, 'qrels', `${split}.tsv`), 'utf8')
      .trim()
      .split('\n')
      .slice(1)) {
      const [query = '', document = '', score] = row.split('\t');
      if (Number(score) > 0) relevant.set(query, (relevant.get(query) ?? new Set()).add(document));
    }
    return [...relevant].map(([query, ids]) => ({ text: queries.get(query) ?? '', relevant: ids }));
  };
  return {
    documents: lines('corpus.jsonl').map(({ _id, title, text }) => ({
      id: _id,
      text: `${title ?? ''} ${text}`.trim(),
    })),
    claims: { train: claims('train'), test: claims('test') },
  };
}
