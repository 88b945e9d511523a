import type { Ledger } from '../ledger/ledger.ts';
import type { Chat, DuringTurn } from '../seams/chat.ts';

export const webChannel = 'web';

/** A chat with the facts that only the host needs. */
export interface KnownChat extends Chat {
  readonly user: string;
  readonly lane: string;
  readonly address: string;
  /** The chat has several people. */
  readonly isGroup: boolean;
  /** A group where people besides its user may speak to the agent. */
  readonly isShared: boolean;
  /** Handling of messages during a turn; null: the default. */
  readonly during: DuringTurn | null;
}

/** Two different addresses never share a lane, because the channel's name contains no colon. */
export function laneOf(channel: string, address: string): string {
  return `${channel}:${address}`;
}

/** The lane for messages that must not wait for a run of the same chat. */
export function controlLane(lane: string): string {
  return `control:${lane}`;
}

/** A chat on the web is addressed by its user and name; a user's name contains no slash. */
export function webAddress(user: string, name: string): string {
  return `${user}/${name}`;
}

export class ChatTable {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** Returns the chat at an address; its owner is the first user there. */
  meet(user: string, channel: string, address: string, isGroup = false): KnownChat {
    const lane = laneOf(channel, address);
    const name = channel === webChannel ? address.slice(user.length + 1) : lane;
    const now = Date.now();
    this.#ledger.write(
      (sql) => sql.run`INSERT INTO chats (lane, user, name, channel, address, created_at, active_at, is_group)
        VALUES (${lane}, ${user}, ${name}, ${channel}, ${address}, ${now}, ${now}, ${isGroup ? 1 : 0})
        ON CONFLICT (lane) DO UPDATE SET active_at = excluded.active_at,
          is_group = max(is_group, excluded.is_group)`,
    );
    const chat = this.at(lane);
    if (chat === undefined) throw new Error(`The chat ${lane} was not stored`);
    return chat;
  }

  at(lane: string): KnownChat | undefined {
    const row = this.#ledger.read((sql) => sql.get`SELECT * FROM chats WHERE lane = ${lane}`);
    return row && chatOf(row);
  }

  named(user: string, name: string): KnownChat | undefined {
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT * FROM chats WHERE user = ${user} AND name = ${name}`,
    );
    return row && chatOf(row);
  }

  /** The most recently active first. */
  ofUser(user: string): readonly KnownChat[] {
    return this.#ledger
      .read((sql) => sql.all`SELECT * FROM chats WHERE user = ${user} ORDER BY active_at DESC LIMIT 1000`)
      .map(chatOf);
  }

  list(user: string): readonly Chat[] {
    return this.ofUser(user).map(({ name, channel, model, createdAt, activeAt }) => ({
      name,
      channel,
      model,
      createdAt,
      activeAt,
    }));
  }

  users(): readonly string[] {
    return this.#ledger
      .read((sql) => sql.all`SELECT DISTINCT user FROM chats`)
      .map(({ user }) => String(user));
  }

  setModel(lane: string, model: string | null): void {
    this.#ledger.write((sql) => sql.run`UPDATE chats SET model = ${model} WHERE lane = ${lane}`);
  }

  setShared(lane: string, isShared: boolean): void {
    this.#ledger.write((sql) => sql.run`UPDATE chats SET shared = ${isShared ? 1 : 0} WHERE lane = ${lane}`);
  }

  setDuring(lane: string, during: DuringTurn | null): void {
    this.#ledger.write((sql) => sql.run`UPDATE chats SET during = ${during} WHERE lane = ${lane}`);
  }
}

function chatOf(row: Readonly<Record<string, unknown>>): KnownChat {
  return {
    lane: String(row.lane),
    user: String(row.user),
    name: String(row.name),
    channel: String(row.channel),
    address: String(row.address),
    model: row.model === null ? null : String(row.model),
    isGroup: row.is_group === 1,
    isShared: row.shared === 1,
    during: row.during === 'steer' || row.during === 'follow' ? row.during : null,
    createdAt: Number(row.created_at),
    activeAt: Number(row.active_at),
  };
}
