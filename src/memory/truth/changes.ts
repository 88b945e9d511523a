/** The outbox: entries that the indexes have to read again. */
import type { Sql } from './truth.ts';

export function markChanged(sql: Sql, namespace: string, id: number): void {
  sql.run`INSERT OR REPLACE INTO changes (entry, namespace) VALUES (${id}, ${namespace})`;
}
