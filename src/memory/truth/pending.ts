/** Entries whose vectors are missing or belong to another model. */

import { markChanged } from './changes.ts';
import { numberOf, type Row, textOf, textOrNull } from './columns.ts';
import { textBefore } from './neighbours.ts';
import type { Sql } from './truth.ts';
import { type EntryVectors, writeVectors } from './write-entry.ts';

export interface Unembedded {
  readonly id: number;
  readonly namespace: string;
  readonly version: number;
  readonly text: string;
  /** The text before it in its thread, or its context. */
  readonly before: string | null;
}

export function countPending(sql: Sql, model: number | null): number {
  if (model === null) return numberOf(sql.get`SELECT count(*) AS n FROM entries` ?? {}, 'n');
  // Three ranges of the index on (model, id), because an inequality would read all of it.
  const row = sql.get`SELECT
    (SELECT count(*) FROM entries WHERE model IS NULL)
    + (SELECT count(*) FROM entries WHERE model < ${model}) + (SELECT count(*) FROM entries WHERE model > ${model}) AS n`;
  return row === undefined ? 0 : numberOf(row, 'n');
}

/** Namespaces with entries that have no vectors, at most `most`, starting after the given one and wrapping around. */
export function namespacesWaiting(sql: Sql, after: string, most: number): string[] {
  const found: string[] = [];
  // One index lookup for each, however many entries wait.
  let next = waitingAfter(sql, after) ?? waitingAfter(sql, '');
  while (next !== null && found.length < most && !found.includes(next)) {
    found.push(next);
    next = waitingAfter(sql, next) ?? waitingAfter(sql, '');
  }
  return found;
}

function waitingAfter(sql: Sql, after: string): string | null {
  const row = sql.get`SELECT min(namespace) AS namespace FROM entries WHERE model IS NULL AND namespace > ${after}`;
  return row === undefined ? null : textOrNull(row, 'namespace');
}

/**
 * Entries of the namespace without vectors, newest first: users soon search for what they just stored, and a large
 * import can wait.
 */
export function pendingEntries(sql: Sql, namespace: string, limit: number): Unembedded[] {
  return sql.all`
    SELECT id, namespace, version, coalesce(search_text, content) AS text FROM entries
    WHERE model IS NULL AND namespace = ${namespace} ORDER BY id DESC LIMIT ${limit}`.map((row) =>
    unembeddedOf(sql, row),
  );
}

/** Entries with vectors of another model. */
export function otherModels(sql: Sql, model: number, limit: number): Unembedded[] {
  return sql.all`
    SELECT id, namespace, version, coalesce(search_text, content) AS text FROM entries
    WHERE model < ${model} OR model > ${model} LIMIT ${limit}`.map((row) => unembeddedOf(sql, row));
}

/** True while the store is still moving from one model to another. */
export function hasOtherModels(sql: Sql, model: number): boolean {
  return otherModels(sql, model, 1).length > 0;
}

/** Bytes of text in the namespace without vectors. */
export function pendingBytes(sql: Sql, namespace: string): number {
  const row = sql.get`SELECT bytes FROM debts WHERE namespace = ${namespace}`;
  return row === undefined ? 0 : numberOf(row, 'bytes');
}

/** How many entries of the namespace have no vectors; counts up to `most`. */
export function countWaiting(sql: Sql, namespace: string, most: number): number {
  const row = sql.get`SELECT count(*) AS n FROM (
    SELECT 1 FROM entries WHERE namespace = ${namespace} AND model IS NULL LIMIT ${most})`;
  return row === undefined ? 0 : numberOf(row, 'n');
}

export function entriesAfter(sql: Sql, id: number, limit: number): Unembedded[] {
  return sql.all`
    SELECT id, namespace, version, coalesce(search_text, content) AS text FROM entries
    WHERE id > ${id} ORDER BY id LIMIT ${limit}`.map((row) => unembeddedOf(sql, row));
}

/** Does nothing for an entry that was changed or removed since it was read, or that has another one before it now. */
export function fillVectors(sql: Sql, entry: Unembedded, vectors: EntryVectors): void {
  const { id, namespace, version } = entry;
  if (sql.get`SELECT 1 FROM entries WHERE id = ${id} AND version = ${version}` === undefined) return;
  if (textBefore(sql, id) !== entry.before) return;
  writeVectors(sql, id, vectors);
  markChanged(sql, namespace, id);
}

function unembeddedOf(sql: Sql, row: Row): Unembedded {
  const id = numberOf(row, 'id');
  return {
    id,
    before: textBefore(sql, id),
    namespace: textOf(row, 'namespace'),
    version: numberOf(row, 'version'),
    text: textOf(row, 'text'),
  };
}
