/** How far each external index has read the outbox. */
import { numberOf, textOf } from './columns.ts';
import type { Sql } from './truth.ts';

export function readPosition(sql: Sql, indexName: string): number {
  const row = sql.get`SELECT seq FROM positions WHERE index_name = ${indexName}`;
  return row === undefined ? 0 : numberOf(row, 'seq');
}

export function writePosition(sql: Sql, indexName: string, seq: number): void {
  sql.run`INSERT OR REPLACE INTO positions (index_name, seq) VALUES (${indexName}, ${seq})`;
}

/** A random id of this file: two files may share a Qdrant. */
export function storeId(sql: Sql): string {
  return textOf(sql.get`SELECT value FROM meta WHERE name = 'store'` ?? {}, 'value');
}
