/**
 * Writes one entry with its words. Runs inside a transaction. A new text has no vectors yet: `model IS NULL` marks it
 * for the indexer.
 */
import { randomUUID } from 'node:crypto';
import { GeodeError } from '../../base/errors.ts';
import type { PreparedEntry } from '../prepare.ts';
import { markChanged } from './changes.ts';
import { numberOf, textsOf } from './columns.ts';
import { namespaceWord } from './fallback-words.ts';
import { nextPosition, placeOf, refreshAround, writeNear } from './neighbours.ts';
import type { Sql } from './truth.ts';
import { packWords } from './word-blob.ts';

/** The vectors of one entry, a packed blob for each chunk, and their model. */
export interface EntryVectors {
  readonly model: number;
  readonly chunks: readonly Uint8Array[];
}

export interface Written {
  readonly id: number;
  readonly outcome: 'created' | 'updated' | 'merged';
  /** It has vectors of some model. */
  readonly embedded: boolean;
}

export function writeEntry(sql: Sql, namespace: string, entry: PreparedEntry, now: number): Written {
  const id = entry.key === null ? twinOf(sql, namespace, entry) : idOf(sql, namespace, entry.key);
  const left = id === null ? null : placeOf(sql, id);
  const written = id === null ? create(sql, namespace, entry, now) : change(sql, namespace, id, entry, now);
  if (written.outcome !== 'merged') {
    writeWords(sql, namespace, written.id, entry);
    writeNear(sql, written.id);
    for (const place of [left, placeOf(sql, written.id)]) if (place !== null) refreshAround(sql, place);
  }
  writeLabels(sql, written.id, entry);
  supersede(sql, namespace, written.id, entry.supersedes);
  markChanged(sql, namespace, written.id);
  return written;
}

/** The entry with the same content: a store without a key is merged into it. */
function twinOf(sql: Sql, namespace: string, entry: PreparedEntry): number | null {
  const row = sql.get`
    SELECT id FROM entries WHERE namespace = ${namespace} AND category = ${entry.category}
      AND content_hash = ${entry.contentHash} AND superseded_by IS NULL
      AND (${entry.thread} IS NULL OR (thread = ${entry.thread} AND position = ${entry.order}))
      AND (${entry.date} IS NULL OR date = ${entry.date}) ORDER BY id LIMIT 1`;
  return row === undefined ? null : numberOf(row, 'id');
}

function idOf(sql: Sql, namespace: string, key: string): number | null {
  const row = sql.get`SELECT id FROM entries WHERE namespace = ${namespace} AND key = ${key}`;
  return row === undefined ? null : numberOf(row, 'id');
}

function create(sql: Sql, namespace: string, entry: PreparedEntry, now: number): Written {
  const { lastInsertRowid } = sql.run`
    INSERT INTO entries (namespace, key, content, search_text, category, content_hash, version, sightings,
      created_at, updated_at, valid_until, thread, position, date, context, words)
    VALUES (${namespace}, ${entry.key ?? randomUUID()}, ${entry.content}, ${entry.searchText}, ${entry.category},
      ${entry.contentHash}, 1, 1, ${now}, ${now}, ${entry.validUntil}, ${entry.thread},
      ${positionFor(sql, namespace, entry, null)}, ${entry.date}, ${entry.context}, ${packWords(entry.words)})`;
  return { id: Number(lastInsertRowid), outcome: 'created', embedded: false };
}

/** Its position in its thread. Without a new position an entry stays where it is. */
function positionFor(
  sql: Sql,
  namespace: string,
  { thread, order }: PreparedEntry,
  id: number | null,
): number | null {
  if (thread === null || order !== null) return order;
  const present = id === null ? null : placeOf(sql, id);
  return present?.thread === thread ? present.position : nextPosition(sql, namespace, thread);
}

function change(sql: Sql, namespace: string, id: number, entry: PreparedEntry, now: number): Written {
  if (entry.key === null || saysTheSame(sql, id, entry)) {
    // Storing it again makes it valid again, even if it had expired or been replaced.
    const row = sql.get`
      UPDATE entries SET sightings = sightings + 1, superseded_by = NULL,
        valid_until = CASE WHEN ${entry.validUntil} IS NOT NULL THEN ${entry.validUntil}
          WHEN valid_until <= ${now} THEN NULL ELSE valid_until END
      WHERE id = ${id} RETURNING model`;
    return { id, outcome: 'merged', embedded: typeof row?.model === 'number' };
  }
  sql.run`
    INSERT INTO versions SELECT id, version, content, category, tags, sources, valid_until, updated_at
    FROM entry_view WHERE id = ${id}`;
  sql.run`
    UPDATE entries SET content = ${entry.content}, search_text = ${entry.searchText}, category = ${entry.category},
      content_hash = ${entry.contentHash}, version = version + 1, sightings = sightings + 1, updated_at = ${now},
      valid_until = ${entry.validUntil}, thread = ${entry.thread},
      position = ${positionFor(sql, namespace, entry, id)}, date = ${entry.date}, context = ${entry.context},
      superseded_by = NULL, words = ${packWords(entry.words)}, model = NULL
    WHERE id = ${id}`;
  sql.run`DELETE FROM labels WHERE entry = ${id} AND kind <> 'source'`;
  // Their old content is no longer valid.
  sql.run`DELETE FROM vectors WHERE entry = ${id}`;
  return { id, outcome: 'updated', embedded: false };
}

function saysTheSame(sql: Sql, id: number, entry: PreparedEntry): boolean {
  const row = sql.get`
    SELECT tags FROM entry_view WHERE id = ${id} AND content = ${entry.content} AND category = ${entry.category}
      AND search_text IS ${entry.searchText} AND valid_until IS ${entry.validUntil}
      AND thread IS ${entry.thread} AND (${entry.order} IS NULL OR position = ${entry.order})
      AND date IS ${entry.date} AND context IS ${entry.context}`;
  return row !== undefined && textsOf(row, 'tags').sort().join('\0') === [...entry.tags].sort().join('\0');
}

function writeWords(sql: Sql, namespace: string, id: number, entry: PreparedEntry): void {
  const words = [...entry.words].flatMap(([word, count]) => Array<string>(count).fill(word)).join(' ');
  sql.run`DELETE FROM word_index WHERE rowid = ${id}`;
  sql.run`INSERT INTO word_index (rowid, namespace, words) VALUES (${id}, ${namespaceWord(namespace)}, ${words})`;
}

export function writeVectors(sql: Sql, id: number, { model, chunks }: EntryVectors): void {
  sql.run`DELETE FROM vectors WHERE entry = ${id}`;
  sql.run`UPDATE entries SET model = ${model} WHERE id = ${id}`;
  for (const [chunk, vector] of chunks.entries()) {
    sql.run`INSERT INTO vectors (entry, chunk, vector) VALUES (${id}, ${chunk}, ${vector})`;
  }
}

function writeLabels(sql: Sql, id: number, entry: PreparedEntry): void {
  const labels = {
    tag: entry.tags,
    source: entry.sources,
    identifier: entry.identifiers,
    error: entry.errors,
  };
  for (const [kind, values] of Object.entries(labels)) {
    for (const value of values) {
      sql.run`
        INSERT OR IGNORE INTO labels (entry, kind, value, position) VALUES (${id}, ${kind}, ${value},
          (SELECT count(*) FROM labels WHERE entry = ${id} AND kind = ${kind}))`;
    }
  }
}

function supersede(sql: Sql, namespace: string, id: number, keys: readonly string[]): void {
  for (const key of keys) {
    const old = idOf(sql, namespace, key);
    if (old === null || old === id) {
      throw new GeodeError('entry_not_found', `There is no other entry ${JSON.stringify(key)} to supersede.`);
    }
    sql.run`UPDATE entries SET superseded_by = (SELECT key FROM entries WHERE id = ${id}) WHERE id = ${old}`;
    markChanged(sql, namespace, old);
  }
}

export function removeEntry(sql: Sql, namespace: string, key: string): boolean {
  const id = idOf(sql, namespace, key);
  if (id === null) return false;
  const left = placeOf(sql, id);
  sql.run`DELETE FROM word_index WHERE rowid = ${id}`;
  sql.run`DELETE FROM entries WHERE id = ${id}`;
  if (left !== null) refreshAround(sql, left);
  markChanged(sql, namespace, id);
  return true;
}
