import { localUser } from '../../base/identity.ts';
import type { SandboxStatus } from '../../seams/persistent.ts';
import type { CliContext } from '../command.ts';
import { askRunningHost } from './running-api.ts';

/** The sandboxes of all users: as the host says that runs, or as the files say. No host is started for it. */
export async function sandboxStates(
  context: CliContext,
  { usage = false }: { readonly usage?: boolean } = {},
): Promise<readonly SandboxStatus[]> {
  const { signal } = context;
  const asked = await askRunningHost(
    context,
    localUser,
    (client) => client.sandboxes.list({ users: 'all', ...(usage && { usage }), signal }),
    'anything',
  );
  return asked?.answer ?? (await context.geode()).listOffline({ signal });
}
