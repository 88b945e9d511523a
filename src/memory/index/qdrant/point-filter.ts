/** The filter of a search in Qdrant's words. The namespace is always part of it. */
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
