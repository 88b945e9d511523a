/**
 * API keys. Each belongs to one user and has scopes. Only a hash is stored, so a key is shown once.
 *
 * The file is SQLite, so `geode keys` and a running server share it: a revoked key is refused from the next request
 * on.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { GeodeError } from '../base/errors.ts';
import { checkUser } from '../base/identity.ts';
import { type Scope, scopes } from '../contract/keys.ts';
import { Connection } from '../ledger/connection.ts';
import { type Chapter, migrate } from '../ledger/migrate.ts';

export { type Scope, scopes };

export interface ApiKey {
  readonly id: string;
  readonly user: string;
  readonly scopes: readonly Scope[];
  readonly label: string;
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
}

export interface NewKey {
  readonly user: string;
  readonly scopes: readonly Scope[];
  readonly label?: string;
}

export interface KeyStore extends Disposable {
  /** The secret is not stored and cannot be shown again. */
  create(key: NewKey): { readonly key: ApiKey; readonly secret: string };
  /** The key with this secret, if it is known and not revoked. Takes the same time for every wrong secret. */
  verify(secret: string): ApiKey | null;
  /** Oldest first, revoked ones included. */
  list(): readonly ApiKey[];
  /** Idempotent for an existing key. Throws `key_not_found` for an unknown one. */
  revoke(id: string): void;
}

export const keyChapter: Chapter = {
  name: 'keys',
  changes: [
    `CREATE TABLE IF NOT EXISTS api_keys (
      id TEXT PRIMARY KEY, hash BLOB NOT NULL, user TEXT NOT NULL, scopes TEXT NOT NULL, label TEXT NOT NULL,
      created_at INTEGER NOT NULL, revoked_at INTEGER) STRICT`,
  ],
};

/** Opens the file of keys; creates it, readable only by its owner, if it does not exist. */
export function openKeys(path: string): KeyStore {
  const connection = openPrivate(path, keyChapter);
  const { sql } = connection;

  return {
    create({ user, scopes: granted, label = '' }) {
      checkUser(user);
      const id = randomBytes(6).toString('hex');
      const secret = `geode_${id}_${randomBytes(32).toString('base64url')}`;
      const createdAt = new Date();
      sql.run`INSERT INTO api_keys (id, hash, user, scopes, label, created_at)
        VALUES (${id}, ${hashOf(secret)}, ${user}, ${granted.join(' ')}, ${label}, ${createdAt.getTime()})`;
      return { key: { id, user, scopes: granted, label, createdAt, revokedAt: null }, secret };
    },
    verify(secret) {
      const known = usualForm(secret);
      const id = keyPattern.exec(known)?.[1] ?? '';
      const row = sql.get`SELECT * FROM api_keys WHERE id = ${id} AND revoked_at IS NULL`;
      const hash = row?.hash instanceof Uint8Array ? row.hash : hashOfNothing;
      return timingSafeEqual(hashOf(known), hash) && row ? keyOf(row) : null;
    },
    list: () => sql.all`SELECT * FROM api_keys ORDER BY created_at, id`.map(keyOf),
    revoke(id) {
      const revoked = sql.run`UPDATE api_keys SET revoked_at = coalesce(revoked_at, ${Date.now()}) WHERE id = ${id}`;
      if (revoked.changes === 0) throw new GeodeError('key_not_found', `There is no key ${id}`);
    },
    [Symbol.dispose]: () => connection[Symbol.dispose](),
  };
}

const keyPattern = /geode_([0-9a-f]{12})_[\w-]{43}/;
const e2bPattern = /e2b_([0-9a-f]{12})([0-9a-f]{64})/;

/** Finds keys in text, in both formats, so that none is logged or read from a URL. */
export const keysInText = new RegExp(`${keyPattern.source}|${e2bPattern.source}`);

function usualForm(secret: string): string {
  const [whole, id = '', bytes = ''] = e2bPattern.exec(secret) ?? [];
  return whole === secret ? `geode_${id}_${Buffer.from(bytes, 'hex').toString('base64url')}` : secret;
}

/** The file of the keys also holds the table of logins, so that all credentials are in one place. */
export function openPrivate(path: string, chapter: Chapter): Connection {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const connection = new Connection(path, { timeoutMs: 5_000 });
  connection.exec('PRAGMA journal_mode = WAL');
  migrate(connection, [chapter], () => {
    connection[Symbol.dispose]();
    return new GeodeError('invalid_config', `A newer Geode wrote the key file ${path}.`, {
      hint: 'Update Geode, or set gateway.keys_file to another file.',
    });
  });
  return connection;
}

// A key has 256 random bits, so a plain hash is as hard to reverse as a slow one, and fast for each request.
function hashOf(secret: string): Uint8Array {
  return createHash('sha256').update(secret).digest();
}

const hashOfNothing = new Uint8Array(32);

function keyOf(row: Record<string, unknown>): ApiKey {
  const granted = String(row.scopes).split(' ');
  return {
    id: String(row.id),
    user: String(row.user),
    scopes: scopes.filter((scope) => granted.includes(scope)),
    label: String(row.label),
    createdAt: new Date(Number(row.created_at)),
    revokedAt: row.revoked_at === null ? null : new Date(Number(row.revoked_at)),
  };
}
