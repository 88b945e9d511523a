/** All items, of which there has to be one at least: what is expected of each proves nothing of an empty list. */
export function eachOf<Item>(items: Iterable<Item>): readonly Item[] {
  const all = [...items];
  if (all.length === 0) throw new Error('The list is empty, so nothing of it is proven.');
  return all;
}
