/** The API keys: of the host that runs, or in their file. */
import { localUser } from '../../base/identity.ts';
import type { GeodeClient } from '../../client/client.ts';
import type { Key, Scope } from '../../contract/keys.ts';
import type { CliContext } from '../command.ts';
import { askRunningHost } from './running-api.ts';

interface NewKey {
  readonly user: string;
  readonly scopes: readonly Scope[];
  readonly label: string;
}

export async function listKeys(context: CliContext): Promise<readonly Key[]> {
  const asked = await ask(context, ({ keys }) => keys.list(context));
  if (asked !== undefined) return asked.answer;
  const { listKeysAlone } = await alone();
  return listKeysAlone((await context.loaded()).config);
}

export async function createKey(
  context: CliContext,
  key: NewKey,
): Promise<Key & { readonly secret: string }> {
  const asked = await ask(context, ({ keys }) => keys.create(key, context));
  if (asked !== undefined) return asked.answer;
  const { createKeyAlone } = await alone();
  return createKeyAlone((await context.loaded()).config, key);
}

export async function revokeKey(context: CliContext, id: string): Promise<void> {
  const asked = await ask(context, ({ keys }) => keys.revoke(id, context));
  if (asked !== undefined) return;
  const { revokeKeyAlone } = await alone();
  revokeKeyAlone((await context.loaded()).config, id);
}

const alone = () => import('../../host/keys-alone.ts');

function ask<T>(context: CliContext, work: (client: GeodeClient) => Promise<T>) {
  return askRunningHost(context, localUser, work);
}
