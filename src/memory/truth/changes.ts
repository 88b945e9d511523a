/** The outbox: which entries the indexes have to look at again. */
import type { Sql } from './truth.ts';

export function markChanged(sql: Sql, namespace: string, id: number): void {
  sql.run`INSERT OR REPLACE INTO changes (entry, namespace) VALUES (${id}, ${namespace})`;
}
