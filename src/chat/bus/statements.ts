export type Value = string | number | null;
export type StoredRow = Readonly<Record<string, unknown>>;

/** SQL with placeholders for values, which are never part of the text. There is one more text part than values. */
export interface Fragment {
  readonly parts: readonly string[];
  readonly values: readonly Value[];
}

export interface Statement extends Fragment {
  readonly gives: 'rows' | 'changes';
}

export interface StatementResult {
  readonly rows: readonly StoredRow[];
  readonly changes: number;
}

/**
 * A sequence of statements, each chosen by the results of the earlier ones. SQLite runs them without interruption,
 * PostgreSQL over its connection.
 */
export type Work<T> = Generator<Statement, T, StatementResult>;

/** An SQL fragment of the code. Fragments in its placeholders become part of it. */
export function sql(text: TemplateStringsArray, ...gaps: readonly (Value | Fragment)[]): Fragment {
  const parts = [text[0] ?? ''];
  const values: Value[] = [];
  const append = (part: string) => parts.push(`${parts.pop()}${part}`);
  for (const [index, gap] of gaps.entries()) {
    if (typeof gap === 'object' && gap !== null) {
      const [first = '', ...rest] = gap.parts;
      append(first);
      parts.push(...rest);
      values.push(...gap.values);
      append(text[index + 1] ?? '');
    } else {
      values.push(gap);
      parts.push(text[index + 1] ?? '');
    }
  }
  return { parts, values };
}

type Gaps = readonly (Value | Fragment)[];

export function* all(text: TemplateStringsArray, ...gaps: Gaps): Work<readonly StoredRow[]> {
  return (yield { ...sql(text, ...gaps), gives: 'rows' }).rows;
}

export function* get(text: TemplateStringsArray, ...gaps: Gaps): Work<StoredRow | undefined> {
  return (yield* all(text, ...gaps))[0];
}

/** Returns how many rows it changed. */
export function* run(text: TemplateStringsArray, ...gaps: Gaps): Work<number> {
  return (yield { ...sql(text, ...gaps), gives: 'changes' }).changes;
}
