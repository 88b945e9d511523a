/** Tools of the host for programs in sandboxes, over HTTP. */
import { fromWire } from '../contract/old-names.ts';
import type {
  WireServedToolSession,
  WireToolCalls,
  WireToolSession,
  WireToolSessions,
} from '../contract/tools.ts';
import type { Cancel } from '../core/cancel.ts';
import type { ServedToolSession, ToolCallRecord, ToolServerStatus, ToolSession } from '../core/tools.ts';
import { ask, type Connection } from './send.ts';

/** The session of one sandbox. */
export interface RemoteSandboxTools {
  /** Starts the sandbox if need be. With `tools` it has exactly these; with `replace` it is another session. */
  open(
    options?: { readonly tools?: readonly string[]; readonly replace?: boolean } & Cancel,
  ): Promise<ServedToolSession>;
  /** `tool_session_not_found` where there is none. */
  get(options?: Cancel): Promise<ToolSession>;
  /** False when there was none. */
  close(options?: Cancel): Promise<boolean>;
}

/** Those of all sandboxes of the user. */
export interface RemoteTools {
  /** Oldest first. */
  list(options?: Cancel): Promise<readonly ToolSession[]>;
  /** The names of all tools that a session can have. */
  available(options?: Cancel): Promise<readonly string[]>;
  /** The MCP servers of the config. Needs the scope `admin`. */
  servers(options?: Cancel): Promise<readonly ToolServerStatus[]>;
  /** Says how many there were. */
  closeAll(options?: Cancel): Promise<number>;
  /** Newest first. */
  calls(
    options?: { readonly chat?: string; readonly limit?: number } & Cancel,
  ): Promise<readonly ToolCallRecord[]>;
}

export function remoteSandboxTools(connection: Connection, sandbox: string): RemoteSandboxTools {
  const path = `${sandbox}/tools`;
  return {
    async open({ signal, ...json } = {}) {
      return fromWire(await ask<WireServedToolSession>(connection, 'POST', path, { json, signal }));
    },
    async get({ signal } = {}) {
      return fromWire(await ask<WireToolSession>(connection, 'GET', path, { signal }));
    },
    async close({ signal } = {}) {
      return (await ask<{ closed: number }>(connection, 'DELETE', path, { signal })).closed > 0;
    },
  };
}

export function remoteTools(connection: Connection): RemoteTools {
  const path = '/api/v1/tools';
  return {
    async list({ signal } = {}) {
      return fromWire(await ask<WireToolSessions>(connection, 'GET', path, { signal })).sessions;
    },
    async available({ signal } = {}) {
      return (await ask<WireToolSessions>(connection, 'GET', path, { signal })).available;
    },
    async servers({ signal } = {}) {
      type Answer = { servers: ToolServerStatus[] };
      return (await ask<Answer>(connection, 'GET', `${path}/servers`, { signal })).servers;
    },
    async closeAll({ signal } = {}) {
      return (await ask<{ closed: number }>(connection, 'DELETE', path, { signal })).closed;
    },
    async calls({ signal, ...query } = {}) {
      return fromWire(await ask<WireToolCalls>(connection, 'GET', `${path}/calls`, { query, signal })).calls;
    },
  };
}
