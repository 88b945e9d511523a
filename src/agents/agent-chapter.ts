import type { Chapter } from '../ledger/ledger.ts';

/** AUTOINCREMENT: the number of a deleted event is never used again. */
export const agentChapter: Chapter = {
  name: 'agents',
  changes: [
    `CREATE TABLE agent_conversations (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      user TEXT NOT NULL,
      chat TEXT NOT NULL,
      driver TEXT NOT NULL,
      model TEXT,
      state TEXT,
      allowed TEXT NOT NULL DEFAULT '[]',
      created_at INTEGER NOT NULL,
      active_at INTEGER NOT NULL,
      UNIQUE (user, chat)
    ) STRICT;
    CREATE TABLE agent_turns (
      id TEXT PRIMARY KEY,
      conversation INTEGER NOT NULL REFERENCES agent_conversations (id) ON DELETE CASCADE,
      mark TEXT,
      request TEXT NOT NULL,
      snapshot TEXT,
      starts INTEGER NOT NULL,
      first_seq INTEGER NOT NULL,
      cost REAL NOT NULL,
      started_at INTEGER NOT NULL,
      ended_at INTEGER,
      UNIQUE (conversation, mark)
    ) STRICT;
    CREATE INDEX agent_turns_open ON agent_turns (conversation) WHERE ended_at IS NULL;
    CREATE TABLE agent_events (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      conversation INTEGER NOT NULL REFERENCES agent_conversations (id) ON DELETE CASCADE,
      turn TEXT NOT NULL,
      at INTEGER NOT NULL,
      body TEXT NOT NULL
    ) STRICT;
    CREATE INDEX agent_events_of ON agent_events (conversation, seq);
    CREATE TABLE agent_messages (
      conversation INTEGER NOT NULL REFERENCES agent_conversations (id) ON DELETE CASCADE,
      number INTEGER NOT NULL,
      turn TEXT NOT NULL,
      message TEXT NOT NULL,
      PRIMARY KEY (conversation, number)
    ) STRICT`,
    // No foreign key: a transcript outlives its conversation.
    `ALTER TABLE agent_conversations ADD COLUMN audience TEXT NOT NULL DEFAULT 'private';
    CREATE TABLE agent_summaries (
      conversation INTEGER PRIMARY KEY REFERENCES agent_conversations (id) ON DELETE CASCADE,
      upto INTEGER NOT NULL,
      text TEXT NOT NULL,
      at INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE agent_steers (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      conversation INTEGER NOT NULL REFERENCES agent_conversations (id) ON DELETE CASCADE,
      turn TEXT NOT NULL,
      mark TEXT NOT NULL,
      text TEXT NOT NULL,
      taken INTEGER NOT NULL DEFAULT 0,
      UNIQUE (conversation, mark)
    ) STRICT;
    CREATE TABLE agent_transcript (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      user TEXT NOT NULL,
      chat TEXT NOT NULL,
      conversation INTEGER NOT NULL,
      turn TEXT NOT NULL UNIQUE,
      driver TEXT NOT NULL,
      started_at INTEGER NOT NULL,
      ended_at INTEGER NOT NULL,
      events TEXT NOT NULL
    ) STRICT;
    CREATE INDEX agent_transcript_of ON agent_transcript (user, chat, number)`,
    'ALTER TABLE agent_transcript ADD COLUMN recording TEXT',
    // No foreign key: like the transcript, it outlives the conversation.
    `CREATE TABLE agent_calls (
      turn TEXT NOT NULL,
      number INTEGER NOT NULL,
      head TEXT NOT NULL,
      body BLOB NOT NULL,
      bytes INTEGER NOT NULL,
      at INTEGER NOT NULL,
      PRIMARY KEY (turn, number)
    ) STRICT;
    CREATE INDEX agent_calls_at ON agent_calls (at)`,
  ],
};
