import type { Chapter } from '../../ledger/ledger.ts';

/**
 * `position` is a message's place among all: given when it joins its lane. `epoch` is the number of its last claim, 0
 * before the first. The log gives what happened in a lane one order, whichever table it is in.
 */
export const busChapter: Chapter = {
  name: 'bus',
  changes: [
    `CREATE TABLE bus_inbox (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      lane TEXT NOT NULL,
      user TEXT NOT NULL,
      key TEXT NOT NULL UNIQUE,
      kind TEXT NOT NULL,
      body TEXT NOT NULL,
      state TEXT NOT NULL,
      position INTEGER NOT NULL,
      due INTEGER NOT NULL,
      at INTEGER NOT NULL,
      tries INTEGER NOT NULL DEFAULT 0,
      reason TEXT,
      epoch INTEGER NOT NULL DEFAULT 0,
      lease_until INTEGER NOT NULL DEFAULT 0,
      record TEXT
    ) STRICT;
    CREATE INDEX bus_inbox_open ON bus_inbox (lane, position) WHERE state IN ('waiting', 'running');
    CREATE INDEX bus_inbox_state ON bus_inbox (state, due) WHERE state IN ('waiting', 'running', 'delayed');
    CREATE INDEX bus_inbox_user ON bus_inbox (user, epoch);
    CREATE INDEX bus_inbox_lane ON bus_inbox (lane, id);
    CREATE INDEX bus_inbox_position ON bus_inbox (position);
    CREATE INDEX bus_inbox_epoch ON bus_inbox (epoch);
    CREATE TABLE bus_outbox (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      channel TEXT NOT NULL,
      lane TEXT NOT NULL,
      key TEXT NOT NULL UNIQUE,
      body TEXT NOT NULL,
      state TEXT NOT NULL,
      due INTEGER NOT NULL,
      at INTEGER NOT NULL,
      tries INTEGER NOT NULL DEFAULT 0,
      reason TEXT,
      epoch INTEGER NOT NULL DEFAULT 0,
      lease_until INTEGER NOT NULL DEFAULT 0,
      platform_id TEXT
    ) STRICT;
    CREATE INDEX bus_outbox_open ON bus_outbox (channel, lane, id) WHERE state IN ('waiting', 'sending');
    CREATE INDEX bus_outbox_unknown ON bus_outbox (state) WHERE state = 'unknown';
    CREATE TABLE bus_log (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      lane TEXT NOT NULL,
      at INTEGER NOT NULL,
      message INTEGER,
      reply INTEGER
    ) STRICT;
    CREATE INDEX bus_log_lane ON bus_log (lane, seq)`,
    'ALTER TABLE bus_outbox ADD COLUMN repeatable INTEGER NOT NULL DEFAULT 0',
    'ALTER TABLE bus_inbox ADD COLUMN draft TEXT',
    `ALTER TABLE bus_outbox ADD COLUMN repeat_ms INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE bus_outbox ADD COLUMN doubt_since INTEGER;
    ALTER TABLE bus_outbox ADD COLUMN reported INTEGER NOT NULL DEFAULT 0;
    UPDATE bus_outbox SET reported = 1 WHERE state IN ('unknown', 'failed');
    CREATE INDEX bus_outbox_unreported ON bus_outbox (channel, id) WHERE state IN ('unknown', 'failed') AND reported = 0;
    CREATE INDEX bus_outbox_undelivered ON bus_outbox (lane, id) WHERE state IN ('unknown', 'failed');
    CREATE INDEX bus_outbox_platform ON bus_outbox (channel, platform_id) WHERE platform_id IS NOT NULL`,
  ],
};
