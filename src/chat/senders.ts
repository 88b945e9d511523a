import { randomInt } from 'node:crypto';
import { GeodeError } from '../base/errors.ts';
import { checkUser } from '../base/identity.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Incoming } from '../seams/channel.ts';
import type { PairedSender, Pairing } from '../seams/chat.ts';
import { ChatAudit } from './audit.ts';
import { webChannel } from './chat-table.ts';

export interface SenderOptions {
  /** Senders that need no pairing, with their users, by channel. */
  readonly allowed: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly pairingMs: number;
  readonly now?: () => number;
}

/** Letters and digits that are easy to tell apart when read aloud. */
const alphabet = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789';
const codeLength = 8;

/** The people of each channel and the users they act as. An unknown person gets a code that the owner confirms. */
export class Senders {
  readonly #ledger: Ledger;
  readonly #options: SenderOptions;
  readonly #audit: ChatAudit;
  readonly #now: () => number;

  constructor(ledger: Ledger, options: SenderOptions) {
    this.#ledger = ledger;
    this.#options = options;
    this.#audit = new ChatAudit(ledger);
    this.#now = options.now ?? Date.now;
  }

  /** The user that a sender speaks as; undefined for an unknown sender. */
  userOf(channel: string, sender: string): string | undefined {
    // The API has already identified the caller.
    if (channel === webChannel) return sender;
    const allowed = this.#options.allowed[channel];
    if (allowed !== undefined && Object.hasOwn(allowed, sender)) return allowed[sender];
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT user FROM chat_senders WHERE channel = ${channel} AND sender = ${sender}`,
    );
    return row && String(row.user);
  }

  /** The code of a sender: the pending one, or a new one. */
  codeFor({ channel, sender, address }: Pick<Incoming, 'channel' | 'sender' | 'address'>): Pairing {
    return this.#ledger.write((sql) => {
      sql.run`DELETE FROM chat_pairings WHERE expires_at <= ${this.#now()}`;
      const open = sql.get`SELECT * FROM chat_pairings WHERE channel = ${channel} AND sender = ${sender.id}`;
      if (open !== undefined) return pairingOf(open);
      const code = Array.from({ length: codeLength }, () => alphabet[randomInt(alphabet.length)]).join('');
      const row = sql.get`INSERT INTO chat_pairings
        VALUES (${code}, ${channel}, ${sender.id}, ${sender.name}, ${address},
          ${this.#now() + this.#options.pairingMs}) RETURNING *`;
      if (row === undefined) throw new Error('The pairing code was not stored');
      return pairingOf(row);
    });
  }

  pairings(): readonly Pairing[] {
    return this.#ledger
      .read(
        (sql) => sql.all`SELECT * FROM chat_pairings WHERE expires_at > ${this.#now()} ORDER BY expires_at`,
      )
      .map(pairingOf);
  }

  /** With the address where the sender waits for the result. */
  pair(
    code: string,
    { user, by }: { readonly user: string; readonly by: string },
  ): { readonly paired: PairedSender; readonly address: string } {
    checkUser(user);
    const now = this.#now();
    return this.#ledger.write((sql) => {
      const row = sql.get`DELETE FROM chat_pairings
        WHERE code = ${code.trim().toUpperCase()} AND expires_at > ${now} RETURNING *`;
      if (row === undefined)
        throw new GeodeError(
          'pairing_not_found',
          `There is no pending pairing code ${JSON.stringify(code)}.`,
        );
      const paired = {
        channel: String(row.channel),
        sender: String(row.sender),
        name: String(row.name),
        user,
        pairedAt: now,
        pairedBy: by,
      };
      sql.run`INSERT INTO chat_senders VALUES
        (${paired.channel}, ${paired.sender}, ${paired.name}, ${user}, ${now}, ${by})
        ON CONFLICT (channel, sender) DO UPDATE
        SET user = excluded.user, paired_at = excluded.paired_at, paired_by = excluded.paired_by`;
      const { channel, sender } = paired;
      this.#audit.note(sql, { at: now, by, deed: 'pair', detail: { channel, sender, user } });
      return { paired, address: String(row.address) };
    });
  }

  list(): readonly PairedSender[] {
    return this.#ledger
      .read((sql) => sql.all`SELECT * FROM chat_senders ORDER BY paired_at`)
      .map((row) => ({
        channel: String(row.channel),
        sender: String(row.sender),
        name: String(row.name),
        user: String(row.user),
        pairedAt: Number(row.paired_at),
        pairedBy: String(row.paired_by),
      }));
  }

  /** Whether any person on a channel speaks as the user. */
  speaks(channel: string, user: string): boolean {
    const allowed = Object.values(this.#options.allowed[channel] ?? {}).includes(user);
    return allowed || this.list().some((each) => each.channel === channel && each.user === user);
  }

  unpair(channel: string, sender: string, by: string): boolean {
    return this.#ledger.write((sql) => {
      const { changes } = sql.run`DELETE FROM chat_senders WHERE channel = ${channel} AND sender = ${sender}`;
      if (Number(changes) > 0)
        this.#audit.note(sql, { at: this.#now(), by, deed: 'unpair', detail: { channel, sender } });
      return Number(changes) > 0;
    });
  }
}

function pairingOf(row: Readonly<Record<string, unknown>>): Pairing {
  return {
    code: String(row.code),
    channel: String(row.channel),
    sender: String(row.sender),
    name: String(row.name),
    expiresAt: Number(row.expires_at),
  };
}
