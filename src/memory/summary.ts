/** Why a result was found, as one sentence for a model or a person. */

import { words } from '../base/words.ts';
import type { Explanation, Uses } from '../seams/memory.ts';

const exactly = {
  key: 'its key is the query',
  identifier: 'it carries a name from the query',
  error: 'it has the same error as the query',
} as const;

export function summaryOf(query: string, why: Omit<Explanation, 'summary'>, { helped, hurt }: Uses): string {
  const shared = new Set(why.words);
  const written = query
    .split(/[^\p{L}\p{N}\p{M}_$]+/u)
    .filter((word) => words(word).some((stem) => shared.has(stem)));
  const reasons = [
    why.exact === null ? null : exactly[why.exact],
    written.length === 0 ? null : `it has ${[...new Set(written)].join(', ')}`,
    why.keyword !== null && written.length === 0 ? 'words of the query are near it' : null,
    why.dense === null ? null : `number ${why.dense.rank} in meaning`,
    why.trust === 1 ? null : `ranked lower: it hurt ${hurt} of ${helped + hurt} attempts`,
  ];
  return reasons.filter((reason) => reason !== null).join('; ');
}
