/** The one place that renames fields between code and wire. Without zod, because the client loads this file. */
import { camelName, snakeName } from './names.ts';

/**
 * Names that are not Geode's and stay unchanged. `true`: everything from here on. Otherwise the content of the listed
 * fields, by their wire names; `*` matches any name and leaves it unchanged.
 */
export type Free = true | { readonly [name: string]: Free };

export const anyName = '*';

/** Leaves out undefined values. */
export function toWire(value: unknown, free?: Free): unknown {
  return renamed(value, free, 'out');
}

export function fromWire(value: unknown, free?: Free): unknown {
  return renamed(value, free, 'in');
}

function renamed(value: unknown, free: Free | undefined, way: 'in' | 'out'): unknown {
  if (free === true || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => renamed(item, free, way));
  const below = free?.[anyName];
  const fields = Object.entries(value).flatMap(([name, content]) => {
    if (content === undefined) return [];
    if (below !== undefined) return [[name, renamed(content, below, way)]];
    const other = way === 'out' ? snakeName(name) : camelName(name);
    return [[other, renamed(content, free?.[way === 'out' ? other : name], way)]];
  });
  // Not by assignment, because a name may be `__proto__`.
  return Object.fromEntries(fields);
}
