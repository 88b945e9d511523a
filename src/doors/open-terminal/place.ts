/** The sandbox of a request, and its paths. */
import { posix } from 'node:path';
import type { Context } from 'hono';
import { callOf } from '../../api/call.ts';
import type { ApiEnv } from '../../api/environment.ts';
import { checkReach } from '../../api/sandbox-of.ts';
import { signalOf } from '../../api/streams.ts';
import { GeodeError, isGeodeError } from '../../base/errors.ts';
import type { PersistentSandbox } from '../../seams/persistent.ts';
import type { SessionFolders, TerminalSession } from './session-folders.ts';

/** The home folder of this wire: the workspace, in every sandbox. */
export const home = '/workspace';

/** The sandbox for requests that name no chat. */
const usualChat = 'open-terminal';

export class Places {
  readonly #folders: SessionFolders;

  constructor(folders: SessionFolders) {
    this.#folders = folders;
  }

  sessionOf({ req, var: { caller } }: Context<ApiEnv>): TerminalSession {
    const [, chat] = /^chat:(.+)$/s.exec(req.header('x-terminal-context-id') ?? '') ?? [];
    return { user: caller.user, sandbox: chat ?? usualChat, session: req.header('x-session-id') ?? '' };
  }

  /** Created and started if needed. */
  async use(context: Context<ApiEnv>): Promise<PersistentSandbox> {
    const call = callOf(context);
    const { sandbox } = this.sessionOf(context);
    checkReach(call, { runtime: undefined, limits: undefined });
    return await call.sandboxes.getOrCreate(sandbox, {}, { signal: call.signal });
  }

  /** Started if it exists: reading is no reason to create it. */
  async known(context: Context<ApiEnv>): Promise<PersistentSandbox | undefined> {
    const { sandbox } = this.sessionOf(context);
    try {
      return await context.var.sandboxes.start(sandbox, { signal: signalOf(context) });
    } catch (error) {
      if (isGeodeError(error, 'sandbox_not_found')) return undefined;
      throw error;
    }
  }

  /** Only while it runs: clients ask again every second, and that wakes nothing. */
  async running(context: Context<ApiEnv>): Promise<PersistentSandbox | undefined> {
    const { sandbox } = this.sessionOf(context);
    const { sandboxes } = context.var;
    const signal = signalOf(context);
    const { state } = await sandboxes.inspect(sandbox, { signal }).catch(noneIfMissing);
    return state === 'running' ? await sandboxes.start(sandbox, { signal }) : undefined;
  }

  folder(context: Context<ApiEnv>): string {
    return this.#folders.get(this.sessionOf(context)) ?? home;
  }

  choose(context: Context<ApiEnv>, path: string): void {
    this.#folders.set(this.sessionOf(context), path);
  }

  /** Relative paths start in the session's folder, or in `from`. */
  resolve(context: Context<ApiEnv>, path: string, from = this.folder(context)): string {
    if (path.includes('\0')) throw new GeodeError('invalid_path', 'A path has no NUL byte.');
    if (path === '~' || path.startsWith('~/')) return posix.resolve(home, `.${path.slice(1)}`);
    return posix.resolve(from, path);
  }
}

function noneIfMissing(error: unknown): { readonly state: 'none' } {
  if (isGeodeError(error, 'sandbox_not_found')) return { state: 'none' };
  throw error;
}
