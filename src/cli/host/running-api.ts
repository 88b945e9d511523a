import type { GeodeClient } from '../../client/client.ts';
import { isGeodeError } from '../../core/errors.ts';
import { localUser, userPattern } from '../../core/identity.ts';
import { clientOfHost } from '../../host/host-client.ts';
import { namedHost } from '../../ledger/host-lock.ts';
import type { CliContext } from '../command.ts';
import { marksOf } from './request.ts';

/**
 * Asks the host that runs, which has memory open and its model loaded. Undefined when there is none, when it goes by
 * other settings of memory, or when it ended before it took the request: the caller then works on the file itself, which
 * several processes may do at once.
 */
export async function askRunningHost<T>(
  { loaded }: Pick<CliContext, 'loaded'>,
  user: string,
  ask: (client: GeodeClient) => Promise<T>,
): Promise<{ readonly answer: T } | undefined> {
  const { config } = await loaded();
  const serves = namedHost(config.sandbox.state_dir)?.serves;
  if (serves?.api === undefined || !userPattern.test(user)) return undefined;
  if (!agree(serves.settings ?? {}, marksOf(config))) return undefined;
  const client = await clientOfHost(serves.api);
  if (client === undefined) return undefined;
  try {
    return { answer: await ask(user === localUser ? client : client.as(user)) };
  } catch (error) {
    if (wasNotTaken(error)) return undefined;
    throw error;
  }
}

type Marks = Readonly<Record<string, string>>;

/** What the host does with sandboxes does not matter here. */
function agree(theirs: Marks, ours: Marks): boolean {
  const counts = (name: string) => name === 'program' || /^(memory|qdrant)\./.test(name);
  return Object.keys({ ...theirs, ...ours }).every((name) => !counts(name) || theirs[name] === ours[name]);
}

/** Nobody listened any more, or the host was about to end: nothing was done. */
function wasNotTaken(error: unknown): boolean {
  if (isGeodeError(error, 'stopping')) return true;
  const cause = isGeodeError(error, 'server_unreachable') ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause && ['ECONNREFUSED', 'ENOENT'].includes(String(cause.code));
}
