import type { Chapter } from '../../ledger/ledger.ts';

/** SQL in which the tables of the two databases differ. */
interface Words {
  readonly id: string;
  readonly number: string;
  readonly home: string;
  readonly end: string;
}

/**
 * `position` orders all messages and is assigned when a message joins its lane. `epoch` is the number of its last
 * claim, 0 before the first. The log puts the events of a lane in one order across tables. A lane has a home: hosts
 * that share the tables agree on one host for each home.
 */
const tables = ({ id, number, home, end }: Words) => `
  CREATE TABLE bus_inbox (
    id ${id},
    lane TEXT NOT NULL,
    ${home}
    "user" TEXT NOT NULL,
    key TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    state TEXT NOT NULL,
    position ${number} NOT NULL,
    due ${number} NOT NULL,
    at ${number} NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    epoch ${number} NOT NULL DEFAULT 0,
    lease_until ${number} NOT NULL DEFAULT 0,
    record TEXT
  ) ${end};
  CREATE INDEX bus_inbox_open ON bus_inbox (lane, position) WHERE state IN ('waiting', 'running');
  CREATE INDEX bus_inbox_state ON bus_inbox (state, due) WHERE state IN ('waiting', 'running', 'delayed');
  CREATE INDEX bus_inbox_user ON bus_inbox ("user", epoch);
  CREATE INDEX bus_inbox_lane ON bus_inbox (lane, id);
  CREATE TABLE bus_outbox (
    id ${id},
    channel TEXT NOT NULL,
    lane TEXT NOT NULL,
    key TEXT NOT NULL UNIQUE,
    body TEXT NOT NULL,
    state TEXT NOT NULL,
    due ${number} NOT NULL,
    at ${number} NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    epoch ${number} NOT NULL DEFAULT 0,
    lease_until ${number} NOT NULL DEFAULT 0,
    platform_id TEXT
  ) ${end};
  CREATE INDEX bus_outbox_open ON bus_outbox (channel, lane, id) WHERE state IN ('waiting', 'sending');
  CREATE INDEX bus_outbox_unknown ON bus_outbox (state) WHERE state = 'unknown';
  CREATE TABLE bus_log (
    seq ${id},
    lane TEXT NOT NULL,
    at ${number} NOT NULL,
    message ${number},
    reply ${number}
  ) ${end};
  CREATE INDEX bus_log_lane ON bus_log (lane, seq);`;

const laterChanges = (number: string): readonly string[] => [
  'ALTER TABLE bus_outbox ADD COLUMN repeatable INTEGER NOT NULL DEFAULT 0',
  'ALTER TABLE bus_inbox ADD COLUMN draft TEXT',
  `ALTER TABLE bus_outbox ADD COLUMN repeat_ms ${number} NOT NULL DEFAULT 0;
  ALTER TABLE bus_outbox ADD COLUMN doubt_since ${number};
  ALTER TABLE bus_outbox ADD COLUMN reported INTEGER NOT NULL DEFAULT 0;
  UPDATE bus_outbox SET reported = 1 WHERE state IN ('unknown', 'failed');
  CREATE INDEX bus_outbox_unreported ON bus_outbox (channel, id) WHERE state IN ('unknown', 'failed') AND reported = 0;
  CREATE INDEX bus_outbox_undelivered ON bus_outbox (lane, id) WHERE state IN ('unknown', 'failed');
  CREATE INDEX bus_outbox_platform ON bus_outbox (channel, platform_id) WHERE platform_id IS NOT NULL`,
];

/** The largest position and epoch are looked up for each message. */
const sqliteOnly = `
  CREATE INDEX bus_inbox_position ON bus_inbox (position);
  CREATE INDEX bus_inbox_epoch ON bus_inbox (epoch);`;

const sqlite = { id: 'INTEGER PRIMARY KEY AUTOINCREMENT', number: 'INTEGER', home: '', end: 'STRICT' };

export const busChapter: Chapter = {
  name: 'bus',
  changes: [
    tables(sqlite) + sqliteOnly,
    ...laterChanges(sqlite.number),
    `ALTER TABLE bus_inbox ADD COLUMN home TEXT NOT NULL DEFAULT ''`,
  ],
};

/** Sequences, so that no two hosts assign the same position or epoch. */
const postgresOnly = `
  CREATE SEQUENCE bus_positions;
  CREATE SEQUENCE bus_epochs;
  CREATE TABLE bus_hosts (id TEXT PRIMARY KEY, until BIGINT NOT NULL);
  CREATE TABLE bus_homes (home TEXT PRIMARY KEY, host TEXT NOT NULL)`;

const postgres = {
  id: 'BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
  number: 'BIGINT',
  home: 'home TEXT NOT NULL,',
  end: '',
};

export const postgresChanges: readonly string[] = [
  tables(postgres) + postgresOnly,
  ...laterChanges(postgres.number),
];
