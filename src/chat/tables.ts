import type { Chapter } from '../ledger/ledger.ts';

/** A lane is a chat's key on the bus. Drafts are messages that grow on a platform during a turn. */
export const chatChapter: Chapter = {
  name: 'chats',
  changes: [
    `CREATE TABLE chats (
      lane TEXT PRIMARY KEY,
      user TEXT NOT NULL,
      name TEXT NOT NULL,
      channel TEXT NOT NULL,
      address TEXT NOT NULL,
      model TEXT,
      created_at INTEGER NOT NULL,
      active_at INTEGER NOT NULL,
      UNIQUE (user, name)
    ) STRICT;
    CREATE TABLE chat_senders (
      channel TEXT NOT NULL,
      sender TEXT NOT NULL,
      name TEXT NOT NULL,
      user TEXT NOT NULL,
      paired_at INTEGER NOT NULL,
      paired_by TEXT NOT NULL,
      PRIMARY KEY (channel, sender)
    ) STRICT;
    CREATE TABLE chat_pairings (
      code TEXT PRIMARY KEY,
      channel TEXT NOT NULL,
      sender TEXT NOT NULL,
      name TEXT NOT NULL,
      address TEXT NOT NULL,
      expires_at INTEGER NOT NULL,
      UNIQUE (channel, sender)
    ) STRICT;
    CREATE TABLE chat_drafts (message INTEGER PRIMARY KEY, platform_id TEXT NOT NULL) STRICT;
    CREATE TABLE chat_asks (
      code TEXT PRIMARY KEY,
      lane TEXT NOT NULL,
      approval TEXT NOT NULL UNIQUE,
      asked_at INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE chat_audit (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      at INTEGER NOT NULL,
      by TEXT NOT NULL,
      deed TEXT NOT NULL,
      detail TEXT NOT NULL
    ) STRICT`,
    `CREATE TABLE chat_schedules (
      id TEXT PRIMARY KEY,
      lane TEXT NOT NULL,
      user TEXT NOT NULL,
      channel TEXT NOT NULL,
      address TEXT NOT NULL,
      at_text TEXT NOT NULL,
      time TEXT NOT NULL,
      text TEXT NOT NULL,
      next INTEGER NOT NULL,
      created_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX chat_schedules_next ON chat_schedules (next)`,
    `ALTER TABLE chats ADD COLUMN is_group INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE chats ADD COLUMN during TEXT;
    ALTER TABLE chat_schedules ADD COLUMN catch_up TEXT NOT NULL DEFAULT 'once'`,
    // Indexed by the message's key, which is the same in every bus store.
    `DROP TABLE chat_drafts;
    CREATE TABLE chat_drafts (message TEXT PRIMARY KEY, platform_id TEXT NOT NULL) STRICT`,
    // Drafts are stored in the bus now, so that another host can continue the message.
    'DROP TABLE chat_drafts',
    'ALTER TABLE chats ADD COLUMN shared INTEGER NOT NULL DEFAULT 0',
  ],
};
