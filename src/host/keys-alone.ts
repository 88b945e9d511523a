/** The API keys without a host: in their file, which several processes may open at once. */
import { existsSync } from 'node:fs';
import type { Config } from '../config/schema.ts';
import type { Key } from '../contract/keys.ts';
import { type ApiKey, type NewKey, openKeys } from '../identity/keys.ts';

/** Lists the keys that there are, without making a file for them. */
export function listKeysAlone({ gateway }: Config): readonly Key[] {
  if (!existsSync(gateway.keys_file)) return [];
  using keys = openKeys(gateway.keys_file);
  return keys.list().map(keyOf);
}

export function createKeyAlone({ gateway }: Config, key: NewKey): Key & { readonly secret: string } {
  using keys = openKeys(gateway.keys_file);
  const made = keys.create(key);
  return { ...keyOf(made.key), secret: made.secret };
}

export function revokeKeyAlone({ gateway }: Config, id: string): void {
  using keys = openKeys(gateway.keys_file);
  keys.revoke(id);
}

function keyOf({ id, user, scopes, label, createdAt, revokedAt }: ApiKey): Key {
  return {
    id,
    user,
    scopes,
    label,
    createdAt: createdAt.toISOString(),
    revokedAt: revokedAt?.toISOString() ?? null,
  };
}
