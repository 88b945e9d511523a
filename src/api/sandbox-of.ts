/** How a route comes to a sandbox of its caller. */
import type { Context } from 'hono';
import { GeodeError } from '../core/errors.ts';
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

/**
 * A key reaches no file of the machine and no network around its policy, and runs nothing without walls, unless it is
 * one of whoever runs the host: mounts, a network and the native runtime need the scope `admin`.
 */
export function checkReach(
  { var: { caller } }: Context<ApiEnv>,
  {
    runtime,
    mounts = [],
    network = 'none',
  }: { readonly runtime?: RuntimeName | undefined } & Pick<PersistentSpec, 'mounts' | 'network'>,
): void {
  const isSealed = runtime !== 'native' && mounts.length === 0 && network === 'none';
  if (isSealed || caller.scopes.includes('admin')) return;
  throw new GeodeError('forbidden', 'Mounts, a network and the native runtime need the scope admin', {
    hint: 'Leave them out, allow hosts with a policy instead, or use a key with the scope admin.',
  });
}
