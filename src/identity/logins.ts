/**
 * Dashboard logins. A code opens one session, once and within a short time; a session is the cookie of one browser.
 * Only hashes are stored, in the file of the API keys, so both survive a killed host.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { GeodeError } from '../base/errors.ts';
import { checkUser } from '../base/identity.ts';
import type { Connection } from '../ledger/connection.ts';
import type { Chapter } from '../ledger/migrate.ts';
import { openPrivate } from './keys.ts';

const codeMs = 15 * 60_000;
const sessionMs = 30 * 24 * 3_600_000;
/** Above the limit, the oldest of a user are dropped. */
const mostSessions = 50;

export interface Session {
  readonly id: string;
  readonly user: string;
  readonly expiresAt: Date;
}

export interface LoginLink {
  readonly url: string;
  readonly expiresAt: Date;
}

export const loginChapter: Chapter = {
  name: 'logins',
  changes: [
    `CREATE TABLE IF NOT EXISTS login_codes (
      hash BLOB PRIMARY KEY, user TEXT NOT NULL, expires_at INTEGER NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS sessions (
      id TEXT PRIMARY KEY, hash BLOB NOT NULL, user TEXT NOT NULL, expires_at INTEGER NOT NULL) STRICT`,
  ],
};

export class Logins implements Disposable {
  /** The dashboard's address; undefined while no port is open. */
  servedAt: string | undefined;
  readonly #connection: Connection;

  constructor(path: string) {
    this.#connection = openPrivate(path, loginChapter);
  }

  /**
   * A link that opens one session of the user. The code is in the fragment after `#`, which browsers do not send, so
   * it is not logged. Throws `no_gateway` while the dashboard is not served.
   */
  link(user: string): LoginLink {
    checkUser(user);
    if (this.servedAt === undefined)
      throw new GeodeError('no_gateway', 'This host serves no dashboard: its port is not open');
    const { sql } = this.#connection;
    const code = randomBytes(32).toString('base64url');
    const expiresAt = Date.now() + codeMs;
    sql.run`DELETE FROM login_codes WHERE expires_at < ${Date.now()}`;
    sql.run`INSERT INTO login_codes (hash, user, expires_at) VALUES (${hashOf(code)}, ${user}, ${expiresAt})`;
    return { url: `${this.servedAt}/#/login/${code}`, expiresAt: new Date(expiresAt) };
  }

  /** Null for a code that is unknown, used or expired. The secret is not stored. */
  open(code: string): { readonly session: Session; readonly secret: string } | null {
    const { sql } = this.#connection;
    // One statement takes the code, so two concurrent callers cannot both get it.
    const row = sql.get`DELETE FROM login_codes WHERE hash = ${hashOf(code)} RETURNING user, expires_at`;
    if (row === undefined || Number(row.expires_at) < Date.now()) return null;
    const id = randomBytes(6).toString('hex');
    const secret = `${id}.${randomBytes(32).toString('base64url')}`;
    const user = String(row.user);
    const expiresAt = Date.now() + sessionMs;
    sql.run`DELETE FROM sessions WHERE expires_at < ${Date.now()}`;
    sql.run`INSERT INTO sessions (id, hash, user, expires_at)
      VALUES (${id}, ${hashOf(secret)}, ${user}, ${expiresAt})`;
    sql.run`DELETE FROM sessions WHERE user = ${user} AND id NOT IN
      (SELECT id FROM sessions WHERE user = ${user} ORDER BY expires_at DESC LIMIT ${mostSessions})`;
    return { session: { id, user, expiresAt: new Date(expiresAt) }, secret };
  }

  /** The session with this secret, if it is known and not expired. */
  verify(secret: string): Session | null {
    const [id = ''] = secret.split('.');
    const row = this.#connection.sql.get`SELECT * FROM sessions WHERE id = ${id}`;
    const known = row?.hash instanceof Uint8Array ? row.hash : hashOfNothing;
    if (!timingSafeEqual(hashOf(secret), known) || row === undefined) return null;
    const expiresAt = new Date(Number(row.expires_at));
    return expiresAt.getTime() < Date.now() ? null : { id, user: String(row.user), expiresAt };
  }

  /** Idempotent. */
  end(id: string): void {
    this.#connection.sql.run`DELETE FROM sessions WHERE id = ${id}`;
  }

  [Symbol.dispose](): void {
    this.#connection[Symbol.dispose]();
  }
}

// Both have 256 random bits, so a plain hash is as hard to reverse as a slow one.
function hashOf(secret: string): Uint8Array {
  return createHash('sha256').update(secret).digest();
}

const hashOfNothing = new Uint8Array(32);
