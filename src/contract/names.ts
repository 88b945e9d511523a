/** Names on the wire are written snake_case, names in code camelCase. `rename.ts` translates them. */

type CamelName<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelName<Tail>>}`
  : S;

/** The TypeScript type of the input that a schema accepts. Optional fields may be undefined and are then left out. */
export type Given<T> = T extends readonly (infer Item)[]
  ? readonly Given<Item>[]
  : T extends object
    ? { readonly [K in keyof T as K extends string ? CamelName<K> : never]: Given<T[K]> }
    : T;

/** The type as received: without undefined fields. */
export type Own<T> = T extends readonly (infer Item)[]
  ? readonly Own<Item>[]
  : T extends object
    ? {
        readonly [K in keyof T as K extends string ? CamelName<K> : never]: Own<Exclude<T[K], undefined>>;
      }
    : T;

export function camelName(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

export function snakeName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
