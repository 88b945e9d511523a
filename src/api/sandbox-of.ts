/** How a handler gets a sandbox of its caller. */
import { GeodeError } from '../base/errors.ts';
import { checkLimits, checkMostLimits, type Limits } from '../seams/limits.ts';
import type { PersistentSandbox, PersistentSpec } from '../seams/persistent.ts';
import type { RuntimeName } from '../seams/runtime.ts';
import type { Call } from './call.ts';

type Reaching = Pick<Call, 'sandboxes' | 'signal'>;

/** Started or resumed if needed: for changes. */
export function startedSandbox({ sandboxes, signal }: Reaching, chat: string): Promise<PersistentSandbox> {
  return sandboxes.start(chat, { signal });
}

/** Returns the sandbox without starting or resuming it, because reading must not change its state. */
export async function runningSandbox(call: Reaching, chat: string): Promise<PersistentSandbox> {
  const { state } = await call.sandboxes.inspect(chat, { signal: call.signal });
  if (state === 'stopped' || state === 'hibernated')
    throw new GeodeError('sandbox_stopped', `The sandbox of this chat is ${state}.`);
  if (state === 'paused') throw new GeodeError('sandbox_paused', `The sandbox of this chat is paused.`);
  return startedSandbox(call, chat);
}

/** A caller's settings for a new sandbox. Limits and runtime are required, so that no door forgets them. */
interface AskedOfSandbox {
  readonly runtime: RuntimeName | undefined;
  readonly limits: Limits | undefined;
  readonly mounts?: PersistentSpec['mounts'];
  readonly network?: PersistentSpec['network'];
  readonly rootAccess?: boolean | undefined;
}

/**
 * The one place that decides what a caller may request for a new sandbox. Without the scope `admin`, a key cannot
 * mount files of the machine, bypass the network policy, run without walls or as root, or exceed the maximum limits.
 * The local user on the host's own socket has that scope.
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
    'Mounts, networks, root access and the native runtime need the scope admin',
    {
      hint: 'Leave them out, allow hosts with a network policy, or use a key with the scope admin.',
    },
  );
}
