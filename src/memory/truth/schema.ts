/** The tables of the memory file. Every index is built from them and can be discarded. */
import { GeodeError } from '../../base/errors.ts';
import { Connection } from '../../ledger/connection.ts';
import { type Chapter, migrate } from '../../ledger/migrate.ts';
import { truthFailure } from './failures.ts';

const BUSY_TIMEOUT_MS = 10_000;

export function openTruth(file: string): Connection {
  try {
    const connection = new Connection(file, { timeoutMs: BUSY_TIMEOUT_MS });
    // FULL: acknowledged writes survive a power cut, not only the end of the process.
    connection.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON');
    migrate(connection, [memoryChapter], () => {
      connection[Symbol.dispose]();
      return new GeodeError('memory_down', `A newer Geode wrote the memory file ${file}.`, {
        hint: 'Update Geode, or point `memory.file` to another file.',
      });
    });
    return connection;
  } catch (thrown) {
    throw truthFailure(thrown);
  }
}

/** Files of earlier formats do not store the position of an entry in its thread. */
const addPlaces = `
DROP VIEW entry_view;
ALTER TABLE entries ADD COLUMN thread TEXT;
ALTER TABLE entries ADD COLUMN position REAL;
ALTER TABLE entries ADD COLUMN date INTEGER;
ALTER TABLE entries ADD COLUMN context TEXT;
ALTER TABLE entries ADD COLUMN near BLOB NOT NULL DEFAULT x'';
`;

const schema = `
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT OR IGNORE INTO meta VALUES ('store', lower(hex(randomblob(16))));

CREATE TABLE IF NOT EXISTS models (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  dimensions INTEGER NOT NULL,
  centre BLOB NOT NULL,    -- 32-bit floats: what all texts have in common
  background REAL NOT NULL -- the cosine of texts that have nothing else in common
) STRICT;

-- The long columns come last: reading past them costs a page for every few kilobytes.
CREATE TABLE IF NOT EXISTS entries (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  namespace TEXT NOT NULL,
  key TEXT NOT NULL,
  category TEXT NOT NULL,
  content_hash BLOB NOT NULL,
  version INTEGER NOT NULL,
  sightings INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  valid_until INTEGER,
  superseded_by TEXT,
  model INTEGER REFERENCES models, -- of its vectors; NULL until it is embedded
  thread TEXT,
  position REAL,           -- in the thread
  date INTEGER,            -- when it happened
  words BLOB NOT NULL,     -- what the keyword half knows: see word-blob.ts
  near BLOB NOT NULL DEFAULT x'', -- the words around it: its context and its neighbours in the thread
  context TEXT,
  search_text TEXT,
  content TEXT NOT NULL,
  UNIQUE (namespace, key)
) STRICT;
CREATE INDEX IF NOT EXISTS entries_by_content ON entries (namespace, category, content_hash);
CREATE INDEX IF NOT EXISTS entries_by_model ON entries (model, id);
CREATE INDEX IF NOT EXISTS entries_by_namespace ON entries (namespace, id);
CREATE INDEX IF NOT EXISTS entries_in_thread ON entries (namespace, thread, position, id) WHERE thread IS NOT NULL;
-- The debt of vectors: small, and asked for by every search.
CREATE INDEX IF NOT EXISTS entries_waiting ON entries (namespace) WHERE model IS NULL;

-- The bytes of text without vectors, kept by triggers so that every store can ask for them.
CREATE TABLE IF NOT EXISTS debts (namespace TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;
DELETE FROM debts;
INSERT INTO debts SELECT namespace, sum(octet_length(coalesce(search_text, content))) FROM entries
  WHERE model IS NULL GROUP BY namespace;
CREATE TRIGGER IF NOT EXISTS debt_begins AFTER INSERT ON entries WHEN NEW.model IS NULL BEGIN
  INSERT INTO debts VALUES (NEW.namespace, octet_length(coalesce(NEW.search_text, NEW.content)))
    ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER IF NOT EXISTS debt_changes AFTER UPDATE OF model, search_text, content ON entries
WHEN NEW.model IS NULL OR OLD.model IS NULL BEGIN
  INSERT INTO debts VALUES (NEW.namespace,
      iif(NEW.model IS NULL, octet_length(coalesce(NEW.search_text, NEW.content)), 0)
      - iif(OLD.model IS NULL, octet_length(coalesce(OLD.search_text, OLD.content)), 0))
    ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER IF NOT EXISTS debt_ends AFTER DELETE ON entries WHEN OLD.model IS NULL BEGIN
  UPDATE debts SET bytes = bytes - octet_length(coalesce(OLD.search_text, OLD.content))
    WHERE namespace = OLD.namespace;
END;

CREATE TABLE IF NOT EXISTS labels (
  entry INTEGER NOT NULL REFERENCES entries ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('tag', 'source', 'identifier', 'error')),
  value TEXT NOT NULL,
  position INTEGER NOT NULL,
  PRIMARY KEY (entry, kind, value)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS labels_by_value ON labels (value, kind, entry);

CREATE VIEW IF NOT EXISTS entry_view AS SELECT e.*,
  (SELECT json_group_array(value ORDER BY position) FROM labels WHERE entry = e.id AND kind = 'tag') AS tags,
  (SELECT json_group_array(value ORDER BY position) FROM labels WHERE entry = e.id AND kind = 'source') AS sources,
  (SELECT json_group_array(value ORDER BY position) FROM labels WHERE entry = e.id AND kind = 'identifier') AS identifiers
FROM entries e;

CREATE TABLE IF NOT EXISTS versions (
  entry INTEGER NOT NULL REFERENCES entries ON DELETE CASCADE,
  version INTEGER NOT NULL,
  content TEXT NOT NULL,
  category TEXT NOT NULL,
  tags TEXT NOT NULL,
  sources TEXT NOT NULL,
  valid_until INTEGER,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (entry, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS vectors (
  entry INTEGER NOT NULL REFERENCES entries ON DELETE CASCADE,
  chunk INTEGER NOT NULL,
  vector BLOB NOT NULL,    -- see vector-blob.ts
  PRIMARY KEY (entry, chunk)
) STRICT, WITHOUT ROWID;

-- The outbox: the last change of each entry, in order. A removed entry leaves its row.
CREATE TABLE IF NOT EXISTS changes (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, entry INTEGER NOT NULL UNIQUE, namespace TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS changes_by_namespace ON changes (namespace, seq);
CREATE TABLE IF NOT EXISTS positions (index_name TEXT PRIMARY KEY, seq INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE VIRTUAL TABLE IF NOT EXISTS word_index USING fts5(
  namespace, words, content = '', contentless_delete = 1, tokenize = "unicode61 remove_diacritics 0 tokenchars '_$'"
);
CREATE VIRTUAL TABLE IF NOT EXISTS word_vocabulary USING fts5vocab(word_index, 'col');
`;

/** Use counts of entries. The start time of counting separates entries that were never found from uncounted ones. */
const addUses = `
CREATE TABLE uses (
  entry INTEGER PRIMARY KEY REFERENCES entries ON DELETE CASCADE,
  recalled INTEGER NOT NULL DEFAULT 0,
  last_recalled INTEGER,
  helped INTEGER NOT NULL DEFAULT 0,
  hurt INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT OR IGNORE INTO meta VALUES ('uses since', CAST(unixepoch() * 1000 AS TEXT));
DROP VIEW entry_view;
CREATE VIEW entry_view AS SELECT e.*,
  (SELECT json_group_array(value ORDER BY position) FROM labels WHERE entry = e.id AND kind = 'tag') AS tags,
  (SELECT json_group_array(value ORDER BY position) FROM labels WHERE entry = e.id AND kind = 'source') AS sources,
  (SELECT json_group_array(value ORDER BY position) FROM labels WHERE entry = e.id AND kind = 'identifier') AS identifiers,
  coalesce(u.recalled, 0) AS recalled, u.last_recalled, coalesce(u.helped, 0) AS helped, coalesce(u.hurt, 0) AS hurt
FROM entries e LEFT JOIN uses u ON u.entry = e.id;
`;

/** Formats 1 to 4 are in the header of the file; they are older than the table of formats. */
const formats = { withPlaces: 4 } as const;

export const memoryChapter: Chapter = {
  name: 'memory',
  changes: [schema, addUses],
  adopt(connection) {
    const format = Number(connection.sql.get`PRAGMA user_version`?.user_version);
    if (format >= formats.withPlaces) return format - formats.withPlaces + 1;
    if (format > 0) connection.exec(addPlaces);
    return 0;
  },
};
