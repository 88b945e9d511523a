/** The API keys: of the host that runs, or in their file, which several processes may open at once. */
import type { NewKey } from '../../api/keys.ts';
import { wireKey } from '../../api/wire.ts';
import { localUser } from '../../base/identity.ts';
import type { GeodeClient } from '../../client/client.ts';
import type { WireKey } from '../../contract/keys.ts';
import { toWire } from '../../contract/old-names.ts';
import type { CliContext } from '../command.ts';
import { localKeys, openLocalKeys } from '../input/local-files.ts';
import { askRunningHost } from './running-api.ts';

export async function listKeys(context: CliContext): Promise<readonly WireKey[]> {
  const asked = await ask(context, async ({ keys }) => (await keys.list(context)).map((key) => toWire(key)));
  return asked?.answer ?? (await localKeys(context)).map(wireKey);
}

export async function createKey(context: CliContext, key: NewKey): Promise<WireKey & { secret: string }> {
  const asked = await ask(context, async ({ keys }) => toWire(await keys.create(key, context)));
  if (asked !== undefined) return asked.answer;
  using keys = await openLocalKeys(context);
  const made = keys.create(key);
  return { ...wireKey(made.key), secret: made.secret };
}

export async function revokeKey(context: CliContext, id: string): Promise<void> {
  const asked = await ask(context, async ({ keys }) => keys.revoke(id, context));
  if (asked !== undefined) return;
  using keys = await openLocalKeys(context);
  keys.revoke(id);
}

function ask<T>(context: CliContext, work: (client: GeodeClient) => Promise<T>) {
  return askRunningHost(context, localUser, work);
}
