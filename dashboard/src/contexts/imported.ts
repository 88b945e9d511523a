/** Cells of an imported notebook that have not run yet: kept in this tab until they do. */
const nameOf = (context: string) => `geode-cells-${context}`;

export function keepImported(context: string, cells: readonly string[]): void {
  if (cells.length === 0) sessionStorage.removeItem(nameOf(context));
  else sessionStorage.setItem(nameOf(context), JSON.stringify(cells));
}

export function importedCells(context: string): readonly string[] {
  const kept: unknown = JSON.parse(sessionStorage.getItem(nameOf(context)) ?? '[]');
  return Array.isArray(kept) ? kept.map(String) : [];
}
