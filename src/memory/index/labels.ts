/** Facts for equality filters, encoded so that one list holds all of them. */
import type { Filter } from '../../seams/memory.ts';

/** The labels that an entry must have to pass. */
export function labelsOf(filter: Filter): string[] {
  return [
    ...(filter.category === undefined ? [] : [`category:${filter.category}`]),
    ...(filter.source === undefined ? [] : [`source:${filter.source}`]),
    ...(filter.tags ?? []).map((tag) => `tag:${tag}`),
  ];
}
