/** How a route comes to a sandbox of its caller. */
import type { Context } from 'hono';
import { GeodeError } from '../core/errors.ts';
import { checkLimits, checkMostLimits, type Limits } from '../core/limits.ts';
import type { PersistentSandbox, PersistentSpec } from '../core/persistent.ts';
import type { RuntimeName } from '../core/runtime.ts';
import type { ApiEnv } from './environment.ts';
import { signalOf } from './events.ts';

/** Started or resumed if need be: for routes that change something. */
export function startedSandbox(context: Context<ApiEnv>, chat: string): Promise<PersistentSandbox> {
  return context.var.sandboxes.start(chat, { signal: signalOf(context) });
}

/** As it is: to look at a sandbox is no reason to start or resume it. */
export async function runningSandbox(context: Context<ApiEnv>, chat: string): Promise<PersistentSandbox> {
  const { state } = await context.var.sandboxes.inspect(chat, { signal: signalOf(context) });
  if (state === 'stopped') throw new GeodeError('sandbox_stopped', `The sandbox of this chat is stopped.`);
  if (state === 'paused') throw new GeodeError('sandbox_paused', `The sandbox of this chat is paused.`);
  return startedSandbox(context, chat);
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
  { var: { caller, mostLimits } }: Context<ApiEnv>,
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
