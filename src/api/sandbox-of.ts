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
 * A key reaches no file of the machine and runs nothing without walls, unless it is one of whoever runs the host:
 * mounts and the native runtime need the scope `admin`.
 */
export function checkReach(
  { var: { caller } }: Context<ApiEnv>,
  { runtime, mounts = [] }: { readonly runtime?: RuntimeName | undefined } & Pick<PersistentSpec, 'mounts'>,
): void {
  if (caller.scopes.includes('admin') || (runtime !== 'native' && mounts.length === 0)) return;
  throw new GeodeError('forbidden', 'Mounts and the native runtime need the scope admin');
}
