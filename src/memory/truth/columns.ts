/** Reads the columns of a row with the types of the schema. */
import type { SQLOutputValue } from 'node:sqlite';

export type Row = Readonly<Record<string, SQLOutputValue>>;

export function textOf(row: Row, column: string): string {
  const value = row[column];
  if (typeof value === 'string') return value;
  throw new TypeError(`column ${column} is not text`);
}

export function numberOf(row: Row, column: string): number {
  const value = row[column];
  if (typeof value === 'number') return value;
  throw new TypeError(`column ${column} is not a number`);
}

export function bytesOf(row: Row, column: string): Uint8Array {
  const value = row[column];
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`column ${column} is not a blob`);
}

export function textOrNull(row: Row, column: string): string | null {
  return row[column] === null ? null : textOf(row, column);
}

export function numberOrNull(row: Row, column: string): number | null {
  return row[column] === null ? null : numberOf(row, column);
}

export function dateOrNull(row: Row, column: string): Date | null {
  const value = numberOrNull(row, column);
  return value === null ? null : new Date(value);
}

/** A column made by `json_group_array`, or a list kept as JSON. */
export function textsOf(row: Row, column: string): string[] {
  const parsed: unknown = JSON.parse(textOf(row, column));
  return Array.isArray(parsed) ? parsed.map(String) : [];
}
