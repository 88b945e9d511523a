/** The API keys: of the host that runs, or in their file. */
import { localUser } from '../../base/identity.ts';
import type { GeodeClient } from '../../client/client.ts';
import type { Scope, WireKey } from '../../contract/keys.ts';
import { toWire } from '../../contract/old-names.ts';
import type { CliContext } from '../command.ts';
import { askRunningHost } from './running-api.ts';

interface NewKey {
  readonly user: string;
  readonly scopes: readonly Scope[];
  readonly label: string;
}

export async function listKeys(context: CliContext): Promise<readonly WireKey[]> {
  const asked = await ask(context, async ({ keys }) => (await keys.list(context)).map((key) => toWire(key)));
  if (asked !== undefined) return asked.answer;
  const { listKeysAlone } = await alone();
  return listKeysAlone((await context.loaded()).config);
}

export async function createKey(context: CliContext, key: NewKey): Promise<WireKey & { secret: string }> {
  const asked = await ask(context, async ({ keys }) => toWire(await keys.create(key, context)));
  if (asked !== undefined) return asked.answer;
  const { createKeyAlone } = await alone();
  return createKeyAlone((await context.loaded()).config, key);
}

export async function revokeKey(context: CliContext, id: string): Promise<void> {
  const asked = await ask(context, async ({ keys }) => keys.revoke(id, context));
  if (asked !== undefined) return;
  const { revokeKeyAlone } = await alone();
  revokeKeyAlone((await context.loaded()).config, id);
}

const alone = () => import('../../host/keys-alone.ts');

function ask<T>(context: CliContext, work: (client: GeodeClient) => Promise<T>) {
  return askRunningHost(context, localUser, work);
}
