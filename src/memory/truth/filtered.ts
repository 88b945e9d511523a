/** Queries with a filter: one text of conditions for all of them, applied inside the query. */
import type { SQLInputValue, StatementSync } from 'node:sqlite';
import type { Search } from '../index/search-index.ts';
import type { Row } from './columns.ts';
import type { Sql } from './truth.ts';

/** Conditions on an entry `e`; `filtered` binds their values. */
export const PASSES = `
  e.namespace = :namespace
  AND (:category IS NULL OR e.category = :category)
  AND (:strict = 0 OR (e.superseded_by IS NULL AND (e.valid_until IS NULL OR e.valid_until > :now)))
  AND (:source IS NULL OR EXISTS (SELECT 1 FROM labels WHERE entry = e.id AND kind = 'source' AND value = :source))
  AND NOT EXISTS (SELECT 1 FROM json_each(:tags) wanted
    WHERE NOT EXISTS (SELECT 1 FROM labels WHERE entry = e.id AND kind = 'tag' AND value = wanted.value))`;

export function filtered(
  sql: Sql,
  query: string,
  { namespace, filter, now }: Omit<Search, 'depth'>,
  more: Record<string, SQLInputValue> = {},
): Row[] {
  return prepared(sql, query).all({
    namespace,
    category: filter.category ?? null,
    strict: filter.strict === true ? 1 : 0,
    now,
    source: filter.source ?? null,
    tags: JSON.stringify(filter.tags ?? []),
    ...more,
  });
}

const statements = new WeakMap<Sql, Map<string, StatementSync>>();

/** The prepared statement of a text, one for each connection. */
export function prepared(sql: Sql, query: string): StatementSync {
  const known = statements.get(sql) ?? new Map<string, StatementSync>();
  statements.set(sql, known);
  const statement = known.get(query) ?? sql.db.prepare(query);
  known.set(query, statement);
  return statement;
}
