import type { Context } from 'hono';
import type { Files } from '../../../core/files.ts';
import type { ApiEnv } from '../../environment.ts';
import { runningSandbox, startedSandbox } from '../../sandbox-of.ts';

/** The files that a route is about: of the workspace, or of all that the sandbox's user sees. */
export async function filesFor(
  context: Context<ApiEnv>,
  chat: string,
  root: boolean | undefined,
  purpose: 'look' | 'change',
): Promise<Files> {
  const sandbox = await (purpose === 'look' ? runningSandbox(context, chat) : startedSandbox(context, chat));
  return root === true ? sandbox.rootFiles : sandbox.files;
}
