/** The API keys without a host: in their file, which several processes may open at once. */
import { existsSync } from 'node:fs';
import type { Config } from '../config/schema.ts';
import type { WireKey } from '../contract/keys.ts';
import { type ApiKey, type NewKey, openKeys } from '../identity/keys.ts';

/** Lists the keys that there are, without making a file for them. */
export function listKeysAlone({ gateway }: Config): readonly WireKey[] {
  if (!existsSync(gateway.keys_file)) return [];
  using keys = openKeys(gateway.keys_file);
  return keys.list().map(wireKey);
}

export function createKeyAlone({ gateway }: Config, key: NewKey): WireKey & { secret: string } {
  using keys = openKeys(gateway.keys_file);
  const made = keys.create(key);
  return { ...wireKey(made.key), secret: made.secret };
}

export function revokeKeyAlone({ gateway }: Config, id: string): void {
  using keys = openKeys(gateway.keys_file);
  keys.revoke(id);
}

function wireKey({ id, user, scopes, label, createdAt, revokedAt }: ApiKey): WireKey {
  return {
    id,
    user,
    scopes: [...scopes],
    label,
    created_at: createdAt.toISOString(),
    revoked_at: revokedAt?.toISOString() ?? null,
  };
}
