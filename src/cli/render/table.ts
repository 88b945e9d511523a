import { stripVTControlCharacters } from 'node:util';

/** Rows in columns as wide as they need; the last column is free to run on. */
export function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => width(row[column] ?? ''))));
  return rows.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : padded(cell, widths[column] ?? 0)))
      .join('  '),
  );
}

function padded(cell: string, wanted: number): string {
  return cell + ' '.repeat(Math.max(wanted - width(cell), 0));
}

/** Colours take no room. */
function width(cell: string): number {
  return stripVTControlCharacters(cell).length;
}
