/** A search filter in Qdrant's format. It always includes the namespace. */
import type { Schemas } from '@qdrant/js-client-rest';
import { labelsOf } from '../labels.ts';
import type { Search } from '../search-index.ts';

export function pointFilter({ namespace, filter, now }: Search): Schemas['Filter'] {
  return {
    must: [
      { key: 'namespace', match: { value: namespace } },
      ...labelsOf(filter).map((label) => ({ key: 'labels', match: { value: label } })),
    ],
    ...(filter.strict === true ? { must_not: [{ key: 'validUntil', range: { lte: now } }] } : {}),
  };
}
