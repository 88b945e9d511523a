/** A value that was shown: always as text, plus its richer forms. */
export interface Rich {
  /** Shown by `display`, or the value of the last expression. */
  readonly kind: 'display' | 'value';
  readonly text: string;
  readonly html?: string;
  readonly markdown?: string;
  readonly latex?: string;
  readonly svg?: string;
  readonly png?: Uint8Array;
  readonly jpeg?: Uint8Array;
  /** Only if the value has a faithful JSON form. */
  readonly json?: unknown;
  readonly table?: Table;
  /** Forms that were too large to store. */
  readonly omitted: readonly string[];
}

/** The first rows of a data frame or a list of records. */
interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number | boolean | null)[])[];
  readonly totalRows: number;
}

/** Estimated memory for keeping it; text counts as one byte per character. */
export function richBytes(rich: Rich): number {
  let sum = 0;
  for (const content of Object.values(rich)) {
    if (typeof content === 'string' || content instanceof Uint8Array) sum += content.length;
    else sum += JSON.stringify(content)?.length ?? 0;
  }
  return sum;
}
