/**
 * Names on the wire are written snake_case, names in code camelCase. Whatever goes out or comes in is renamed here, so
 * that nothing is copied field by field.
 */

/** The values of these keys stay unchanged: their names belong to the caller or to other programs. */
const opaque = ['labels', 'env', 'details', 'json', 'files', 'input'] as const;
type Opaque = (typeof opaque)[number];

type SnakeName<S extends string> = S extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeName<Rest>}`
  : S;
type CamelName<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelName<Tail>>}`
  : S;

/** As it is written on the wire. */
export type Wire<T> = T extends readonly (infer Item)[]
  ? Wire<Item>[]
  : T extends object
    ? { [K in keyof T as K extends string ? SnakeName<K> : never]: K extends Opaque ? T[K] : Wire<T[K]> }
    : T;

/** As it is written in code: what is undefined is not there. */
export type Own<T> = T extends readonly (infer Item)[]
  ? Own<Item>[]
  : T extends object
    ? {
        [K in keyof T as K extends string ? CamelName<K> : never]: K extends Opaque
          ? Exclude<T[K], undefined>
          : Own<Exclude<T[K], undefined>>;
      }
    : T;

export function toWire<T>(value: T): Wire<T>;
export function toWire(value: unknown): unknown {
  return renamed(value, (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
}

export function fromWire<T>(value: T): Own<T>;
export function fromWire(value: unknown): unknown {
  return renamed(value, (name) => name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase()));
}

function renamed(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => renamed(item, rename));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([, content]) => content !== undefined);
  return Object.fromEntries(
    kept.map(([name, content]) => [rename(name), isOpaque(name) ? content : renamed(content, rename)]),
  );
}

function isOpaque(name: string): boolean {
  return opaque.some((each) => each === name);
}
