/** The one place where names are translated between code and wire. No zod here: the client needs nothing else. */
import { camelName, snakeName } from './names.ts';

/**
 * Where names belong to somebody else. `true`: everything from here on. Otherwise what is below the named fields, by
 * their names on the wire; `*` stands for any name, which is then not ours either.
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
  // A name may be `__proto__`, which is no field for an assignment.
  return Object.fromEntries(fields);
}
