/** The migrator of the ledger, the key file and the memory file. */
import type { Connection } from './connection.ts';

/** The tables of one part, as a list of changes in order. A published change is never edited. */
export interface Chapter {
  readonly name: string;
  readonly changes: readonly string[];
  /** Returns how many changes a file has that is older than the table `chapters`. May prepare the file for the others. */
  readonly adopt?: (connection: Connection) => number;
}

/** How many changes of a chapter a file has; 0 if it does not know the chapter. */
export function versionOf({ sql }: Connection, { name }: Chapter): number {
  return Number(sql.get`SELECT version FROM chapters WHERE name = ${name}`?.version ?? 0);
}

/** The chapters of a file with the number of their changes; none for a file from before there were chapters. */
export function versionsIn({ sql }: Connection): ReadonlyMap<string, number> {
  if (sql.get`SELECT 1 FROM sqlite_master WHERE name = 'chapters'` === undefined) return new Map();
  return new Map(
    sql.all`SELECT name, version FROM chapters`.map((row) => [String(row.name), Number(row.version)]),
  );
}

/**
 * Brings the tables of each chapter up to date, each in one transaction, and writes nothing if they are. `isNewer`
 * makes the error for a file of a newer Geode, which stays unchanged.
 */
export function migrate(
  connection: Connection,
  chapters: readonly Chapter[],
  isNewer: (chapter: Chapter, version: number) => Error,
): void {
  const { sql } = connection;
  sql.run`CREATE TABLE IF NOT EXISTS chapters (name TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT`;
  for (const chapter of chapters) {
    if (versionOf(connection, chapter) === chapter.changes.length) continue;
    connection.transaction(() => bringUpToDate(connection, chapter, isNewer));
  }
}

function bringUpToDate(
  connection: Connection,
  chapter: Chapter,
  isNewer: (chapter: Chapter, version: number) => Error,
): void {
  const { name, changes, adopt } = chapter;
  // Check again, because another process may have been first.
  const known = versionOf(connection, chapter);
  const version = known === 0 ? (adopt?.(connection) ?? 0) : known;
  if (version > changes.length) throw isNewer(chapter, version);
  for (const change of changes.slice(version)) connection.exec(change);
  connection.sql.run`INSERT INTO chapters VALUES (${name}, ${changes.length})
    ON CONFLICT (name) DO UPDATE SET version = excluded.version`;
}
