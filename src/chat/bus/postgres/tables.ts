/**
 * The bus in PostgreSQL. `position` and `epoch` come from sequences, so that no two hosts give the same one. A lane has
 * a home: lanes of one home are worked on by one host for as long as that host is heard of.
 */
export const changes: readonly string[] = [
  `CREATE TABLE bus_inbox (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    lane TEXT NOT NULL,
    home TEXT NOT NULL,
    "user" TEXT NOT NULL,
    key TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    state TEXT NOT NULL,
    position BIGINT NOT NULL,
    due BIGINT NOT NULL,
    at BIGINT NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    epoch BIGINT NOT NULL DEFAULT 0,
    lease_until BIGINT NOT NULL DEFAULT 0,
    record TEXT
  );
  CREATE INDEX bus_inbox_open ON bus_inbox (lane, position) WHERE state IN ('waiting', 'running');
  CREATE INDEX bus_inbox_state ON bus_inbox (state, due) WHERE state IN ('waiting', 'running', 'delayed');
  CREATE INDEX bus_inbox_user ON bus_inbox ("user", epoch);
  CREATE INDEX bus_inbox_lane ON bus_inbox (lane, id);
  CREATE SEQUENCE bus_positions;
  CREATE SEQUENCE bus_epochs;
  CREATE TABLE bus_outbox (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    channel TEXT NOT NULL,
    lane TEXT NOT NULL,
    key TEXT NOT NULL UNIQUE,
    body TEXT NOT NULL,
    state TEXT NOT NULL,
    due BIGINT NOT NULL,
    at BIGINT NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    epoch BIGINT NOT NULL DEFAULT 0,
    lease_until BIGINT NOT NULL DEFAULT 0,
    platform_id TEXT
  );
  CREATE INDEX bus_outbox_open ON bus_outbox (channel, lane, id) WHERE state IN ('waiting', 'sending');
  CREATE INDEX bus_outbox_unknown ON bus_outbox (state) WHERE state = 'unknown';
  CREATE TABLE bus_log (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    lane TEXT NOT NULL,
    at BIGINT NOT NULL,
    message BIGINT,
    reply BIGINT
  );
  CREATE INDEX bus_log_lane ON bus_log (lane, seq);
  CREATE TABLE bus_hosts (id TEXT PRIMARY KEY, until BIGINT NOT NULL);
  CREATE TABLE bus_homes (home TEXT PRIMARY KEY, host TEXT NOT NULL)`,
  'ALTER TABLE bus_outbox ADD COLUMN repeatable INTEGER NOT NULL DEFAULT 0',
  'ALTER TABLE bus_inbox ADD COLUMN draft TEXT',
  `ALTER TABLE bus_outbox ADD COLUMN repeat_ms BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE bus_outbox ADD COLUMN doubt_since BIGINT;
  ALTER TABLE bus_outbox ADD COLUMN reported INTEGER NOT NULL DEFAULT 0;
  UPDATE bus_outbox SET reported = 1 WHERE state IN ('unknown', 'failed');
  CREATE INDEX bus_outbox_unreported ON bus_outbox (channel, id) WHERE state IN ('unknown', 'failed') AND reported = 0;
  CREATE INDEX bus_outbox_undelivered ON bus_outbox (lane, id) WHERE state IN ('unknown', 'failed');
  CREATE INDEX bus_outbox_platform ON bus_outbox (channel, platform_id) WHERE platform_id IS NOT NULL`,
];
