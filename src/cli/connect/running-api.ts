import { isGeodeError } from '../../base/errors.ts';
import { localUser, userPattern } from '../../base/identity.ts';
import type { GeodeClient } from '../../client/client.ts';
import { clientOfHost } from '../../client/host-client.ts';
import { differingIn, isOfMemory } from '../../config/marks.ts';
import { namedHost } from '../../machine/named-host.ts';
import type { CliContext } from '../command.ts';
import { program } from '../version.ts';
import { reachSettings } from './reach-settings.ts';

/**
 * Asks the running host, which has everything open and its model loaded. Undefined if there is none, if it uses
 * other settings for this request, or if it exited before taking the request: the caller then works on the files
 * itself, which several processes may do at once.
 */
export async function askRunningHost<T>(
  context: Pick<CliContext, 'loaded' | 'machine' | 'values'>,
  user: string,
  ask: (client: GeodeClient) => Promise<T>,
  about: 'memory' | 'anything' = 'memory',
): Promise<{ readonly answer: T } | undefined> {
  const { stateDir, marks } = await reachSettings(context);
  const serves = namedHost(stateDir)?.serves;
  if (serves === undefined || !userPattern.test(user)) return undefined;
  if (serves.program !== program) return undefined;
  // Only the settings of memory matter to memory.
  if (about === 'memory' && differingIn(serves.settings ?? {}, marks, isOfMemory).length > 0)
    return undefined;
  const client = await clientOfHost(serves.api);
  if (client === undefined) return undefined;
  try {
    return { answer: await ask(user === localUser ? client : client.as(user)) };
  } catch (error) {
    if (wasNotTaken(error)) return undefined;
    throw error;
  }
}

/** Nobody listened any more, or the host was about to end: nothing was done. */
function wasNotTaken(error: unknown): boolean {
  if (isGeodeError(error, 'stopping')) return true;
  const cause = isGeodeError(error, 'server_unreachable') ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause && ['ECONNREFUSED', 'ENOENT'].includes(String(cause.code));
}
