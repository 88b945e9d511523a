/** The change that a tool makes to a file, taken from its input: a replaced piece, or the whole new file. */

export interface InputDiff {
  readonly diff: string;
  readonly added: number;
  readonly removed: number;
}

/** Undefined for a tool that does not say what it writes. */
export function inputDiff(input: unknown): InputDiff | undefined {
  if (typeof input !== 'object' || input === null) return undefined;
  const fields: Readonly<Record<string, unknown>> = { ...input };
  const path = textOf(fields, ['path', 'file_path', 'file']);
  const removed = textOf(fields, ['old', 'old_string', 'old_str']);
  const added = textOf(fields, ['new', 'new_string', 'new_str', 'content']);
  if (path === undefined || added === undefined) return undefined;
  const before = linesOf(removed ?? '');
  const after = linesOf(added);
  const start = commonLength(before, after);
  const end = commonLength(before.slice(start).reverse(), after.slice(start).reverse());
  const gone = before.slice(start, before.length - end);
  const come = after.slice(start, after.length - end);
  const same = (lines: readonly string[]) => lines.map((line) => ` ${line}`);
  return {
    diff: [
      ...same(before.slice(0, start)),
      ...gone.map((line) => `-${line}`),
      ...come.map((line) => `+${line}`),
      ...same(before.slice(before.length - end)),
    ].join('\n'),
    added: come.length,
    removed: gone.length,
  };
}

function linesOf(text: string): readonly string[] {
  const lines = text.split('\n');
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

function commonLength(a: readonly string[], b: readonly string[]): number {
  const at = a.findIndex((line, index) => line !== b[index]);
  return at === -1 ? Math.min(a.length, b.length) : at;
}

function textOf(fields: Readonly<Record<string, unknown>>, names: readonly string[]): string | undefined {
  const name = names.find((each) => typeof fields[each] === 'string');
  return name === undefined ? undefined : String(fields[name]);
}
