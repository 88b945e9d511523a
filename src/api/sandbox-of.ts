/** How a handler comes to a sandbox of its caller. */
import { GeodeError } from '../base/errors.ts';
import { checkLimits, checkMostLimits, type Limits } from '../seams/limits.ts';
import type { PersistentSandbox, PersistentSpec } from '../seams/persistent.ts';
import type { RuntimeName } from '../seams/runtime.ts';
import type { Call } from './call.ts';

type Reaching = Pick<Call, 'sandboxes' | 'signal'>;

/** Started or resumed if need be: for what changes something. */
export function startedSandbox({ sandboxes, signal }: Reaching, chat: string): Promise<PersistentSandbox> {
  return sandboxes.start(chat, { signal });
}

/** As it is: to look at a sandbox is no reason to start or resume it. */
export async function runningSandbox(call: Reaching, chat: string): Promise<PersistentSandbox> {
  const { state } = await call.sandboxes.inspect(chat, { signal: call.signal });
  if (state === 'stopped') throw new GeodeError('sandbox_stopped', `The sandbox of this chat is stopped.`);
  if (state === 'paused') throw new GeodeError('sandbox_paused', `The sandbox of this chat is paused.`);
  return startedSandbox(call, chat);
}

/** A caller's wishes for a new sandbox. Limits and runtime must be passed, so that no door forgets them. */
interface AskedOfSandbox {
  readonly runtime: RuntimeName | undefined;
  readonly limits: Limits | undefined;
  readonly mounts?: PersistentSpec['mounts'];
  readonly network?: PersistentSpec['network'];
  readonly rootAccess?: boolean | undefined;
}

/**
 * The one place that decides what a caller may ask of a new sandbox. A key reaches no file of the machine and no
 * network around its policy, runs nothing without walls or as root, and takes no more of the machine than the maxima allow,
 * unless it has the scope `admin`, as the local user on the host's own socket does.
 */
export function checkReach(
  { caller, mostLimits }: Pick<Call, 'caller' | 'mostLimits'>,
  { runtime, limits = {}, mounts = [], network = 'none', rootAccess = false }: AskedOfSandbox,
): void {
  checkMostLimits(checkLimits(limits), mostLimits);
  const isSealed = runtime !== 'native' && mounts.length === 0 && network === 'none' && !rootAccess;
  if (isSealed || caller.scopes.includes('admin')) return;
  throw new GeodeError(
    'forbidden',
    'Mounts, a network, root access and the native runtime need the scope admin',
    {
      hint: 'Leave them out, allow hosts with a policy instead, or use a key with the scope admin.',
    },
  );
}
