/** Entries whose vectors are missing or come from another model than the present one. */
import { numberOf, type Row, textOf } from './columns.ts';
import type { Sql } from './truth.ts';
import { type EntryVectors, markChanged, writeVectors } from './write-entry.ts';

export interface Unembedded {
  readonly id: number;
  readonly namespace: string;
  readonly version: number;
  readonly text: string;
}

export function countPending(sql: Sql, model: number | null): number {
  if (model === null) return numberOf(sql.get`SELECT count(*) AS n FROM entries` ?? {}, 'n');
  // Three ranges of the index on (model, id); an inequality would read all of it.
  const row = sql.get`SELECT
    (SELECT count(*) FROM entries WHERE model IS NULL)
    + (SELECT count(*) FROM entries WHERE model < ${model}) + (SELECT count(*) FROM entries WHERE model > ${model}) AS n`;
  return row === undefined ? 0 : numberOf(row, 'n');
}

export function pendingEntries(sql: Sql, model: number, limit: number): Unembedded[] {
  return sql.all`
    SELECT id, namespace, version, coalesce(search_text, content) AS text FROM entries
    WHERE model IS NULL OR model < ${model} OR model > ${model} LIMIT ${limit}`.map(unembeddedOf);
}

export function entriesAfter(sql: Sql, id: number, limit: number): Unembedded[] {
  return sql.all`
    SELECT id, namespace, version, coalesce(search_text, content) AS text FROM entries
    WHERE id > ${id} ORDER BY id LIMIT ${limit}`.map(unembeddedOf);
}

/** Does nothing for an entry that has changed or gone since it was read. */
export function fillVectors(sql: Sql, { id, namespace, version }: Unembedded, vectors: EntryVectors): void {
  if (sql.get`SELECT 1 FROM entries WHERE id = ${id} AND version = ${version}` === undefined) return;
  writeVectors(sql, id, vectors);
  markChanged(sql, namespace, id);
}

function unembeddedOf(row: Row): Unembedded {
  return {
    id: numberOf(row, 'id'),
    namespace: textOf(row, 'namespace'),
    version: numberOf(row, 'version'),
    text: textOf(row, 'text'),
  };
}
