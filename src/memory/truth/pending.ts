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

/**
 * The newest entries without vectors, or else entries with those of another model. Newest first: who has just
 * stored something asks for it soon, and a big ingest can wait behind that.
 */
export function pendingEntries(sql: Sql, model: number, limit: number): Unembedded[] {
  const waiting = sql.all`
    SELECT id, namespace, version, coalesce(search_text, content) AS text FROM entries
    WHERE model IS NULL ORDER BY id DESC LIMIT ${limit}`;
  const next = waiting.length > 0 ? waiting : otherModels(sql, model, limit);
  return next.map(unembeddedOf);
}

function otherModels(sql: Sql, model: number, limit: number): Row[] {
  return sql.all`
    SELECT id, namespace, version, coalesce(search_text, content) AS text FROM entries
    WHERE model < ${model} OR model > ${model} LIMIT ${limit}`;
}

/** True while the store still moves from one model to another. */
export function hasOtherModels(sql: Sql, model: number): boolean {
  return otherModels(sql, model, 1).length > 0;
}

/** How many entries of the namespace have no vectors; counts no further than `most`. */
export function countWaiting(sql: Sql, namespace: string, most: number): number {
  const row = sql.get`SELECT count(*) AS n FROM (
    SELECT 1 FROM entries WHERE namespace = ${namespace} AND model IS NULL LIMIT ${most})`;
  return row === undefined ? 0 : numberOf(row, 'n');
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
