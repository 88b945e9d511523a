/** Facts that filters ask for by equality, written so that one list holds them all. */
import type { Filter } from '../../seams/memory.ts';

/** The labels that an entry must carry to pass. */
export function labelsOf(filter: Filter): string[] {
  return [
    ...(filter.category === undefined ? [] : [`category:${filter.category}`]),
    ...(filter.source === undefined ? [] : [`source:${filter.source}`]),
    ...(filter.tags ?? []).map((tag) => `tag:${tag}`),
  ];
}
