/** Tools of the host for programs in sandboxes, over HTTP. */
import type { Cancel } from '../base/cancel.ts';
import type { ServedToolSession, ToolCallRecord, ToolServerStatus, ToolSession } from '../seams/tools.ts';
import { callsOf } from './calls.ts';
import type { ApiConnection } from './send.ts';

/** The session of one sandbox. */
export interface RemoteSandboxTools {
  /** Starts the sandbox if needed. `tools` replaces the list of tools; `replace` opens a new session. */
  open(
    options?: { readonly tools?: readonly string[]; readonly replace?: boolean } & Cancel,
  ): Promise<ServedToolSession>;
  /** Throws `tool_session_not_found` if there is no session. */
  get(options?: Cancel): Promise<ToolSession>;
  /** Returns false if there was no session. */
  close(options?: Cancel): Promise<boolean>;
}

/** The tool sessions of all sandboxes of the user. */
export interface RemoteTools {
  /** Oldest first. */
  list(options?: Cancel): Promise<readonly ToolSession[]>;
  /** The names of all possible tools. */
  available(options?: Cancel): Promise<readonly string[]>;
  /** The MCP servers of the config. Needs the scope `admin`. */
  servers(options?: Cancel): Promise<readonly ToolServerStatus[]>;
  /** Returns how many there were. */
  closeAll(options?: Cancel): Promise<number>;
  /** Newest first. */
  calls(
    options?: { readonly chat?: string; readonly limit?: number } & Cancel,
  ): Promise<readonly ToolCallRecord[]>;
}

export function remoteSandboxTools(connection: ApiConnection, chat: string): RemoteSandboxTools {
  const calls = callsOf(connection, 'tools');
  return {
    open: ({ tools, replace, ...cancel } = {}) => calls.open(chat, { tools, replace }, cancel),
    get: (cancel) => calls.get(chat, cancel),
    close: async (cancel) => (await calls.close(chat, cancel)) > 0,
  };
}

export function remoteTools(connection: ApiConnection): RemoteTools {
  const { list, servers, closeAll, calls } = callsOf(connection, 'tools');
  return {
    list: async (cancel) => (await list(cancel)).sessions,
    available: async (cancel) => (await list(cancel)).available,
    servers,
    closeAll,
    calls,
  };
}
