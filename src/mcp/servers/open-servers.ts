/** The MCP servers of the config, offered to tool sessions with their names as prefixes. */
import type { Cancel } from '../../base/cancel.ts';
import type { Log } from '../../base/log.ts';
import type { ToolServerStatus } from '../../seams/tools.ts';
import type { SessionTool } from '../sessions/session-call.ts';
import { serverOf } from './allowed.ts';
import { ExternalServer, type OpenedServer } from './external-server.ts';
import { sessionToolOf } from './offered-tool.ts';

export interface ServerSpec {
  readonly name: string;
  readonly open: (options: Cancel) => Promise<OpenedServer>;
  readonly allowed: readonly string[] | undefined;
  /** The users who may use it; undefined: all users. */
  readonly users: readonly string[] | undefined;
  readonly startTimeoutMs: number;
  readonly callTimeoutMs: number;
}

export interface ExternalServers extends AsyncDisposable {
  /** The names of the servers that the user may use. */
  namesFor(user: string): readonly string[];
  /** Tools of all servers that have been started once. */
  tools(): readonly SessionTool[];
  /** Starts the servers of the given tools. Never throws: a failed server has no tools until the next try. */
  ready(tools: readonly string[]): Promise<void>;
  status(): readonly ToolServerStatus[];
  /** Called when a server's list of tools changed. */
  onChange(listener: (server: string) => void): void;
}

export function openServers(
  specs: readonly ServerSpec[],
  { version, log }: { readonly version: string; readonly log: Log },
): ExternalServers {
  const listeners = new Set<(server: string) => void>();
  const servers = specs.map((spec) => {
    const onChange = () => {
      for (const listener of listeners) listener(spec.name);
    };
    return new ExternalServer({ ...spec, version, log, onChange });
  });
  return {
    namesFor: (user) =>
      specs.filter(({ users }) => users === undefined || users.includes(user)).map(({ name }) => name),
    tools: () =>
      servers.flatMap((server) =>
        server.tools.map((tool) =>
          sessionToolOf(server.name, tool, (name, input, signal) => server.call(name, input, signal)),
        ),
      ),
    async ready(tools) {
      const wanted = new Set(tools.map(serverOf));
      await Promise.allSettled(
        servers.filter(({ name }) => wanted.has(name)).map((server) => server.start()),
      );
    },
    status: () => servers.map(({ status }) => status),
    onChange: (listener) => void listeners.add(listener),
    async [Symbol.asyncDispose]() {
      listeners.clear();
      await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
    },
  };
}
