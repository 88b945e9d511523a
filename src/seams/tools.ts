import type { Duplex } from 'node:stream';
import type { Cancel } from '../base/cancel.ts';
import type { Limits } from './limits.ts';
import type { Sandbox } from './sandbox.ts';

/** Where programs in a sandbox find the host's tools. All paths are in the sandbox. */
export interface ToolPlace {
  /** A Unix socket for the Model Context Protocol, one JSON message per line. */
  readonly socket: string;
  /** Folder of `geode-mcp`, which connects stdin and stdout to the socket; it is in the PATH of commands. */
  readonly folder: string;
  /**
   * The guest program. `<guest> mcp <socket>` equals `geode-mcp`, from a place where nobody inside the sandbox can
   * write.
   */
  readonly guest: string;
}

/** The socket through which programs in a sandbox use the host's tools. Only the sandbox's own user can connect to it. */
export interface ToolDoor {
  /** Idempotent: always the same place, also for the next host. The socket stays when the host ends. */
  open(options?: Cancel): Promise<ToolPlace>;
  /** No error if it is already closed. Accepted connections continue. */
  close(options?: Cancel): Promise<void>;
  /** Yields every connection. One caller at a time; the result ends it. The caller ends the streams. */
  serve(onConnection: (stream: Duplex) => void): Disposable;
}

/** The owner of the sandbox. */
export interface ToolOwner {
  readonly user: string;
  readonly chat: string;
}

/**
 * The host's tools for programs in the sandbox of one user and chat. Each such sandbox has one session. A session
 * survives hosts and stops of the sandbox, until it is closed or its sandbox is removed.
 */
export interface ToolSession extends ToolOwner {
  readonly id: string;
  readonly sandboxId: string;
  /** The names of the tools that it may use. */
  readonly tools: readonly string[];
  readonly createdAt: number;
}

/** The sandbox that a call comes from. Code that the host runs for the call has the same network access and limits. */
export interface ToolReach extends ToolOwner {
  readonly sandboxId: string;
  readonly limits: Limits;
  /** Refuses new schedules if the chat has this many. */
  readonly mostSchedules: number;
  /** The memory that it writes to; `user`: a person allowed it for this call. */
  readonly memory: 'chat' | 'user';
}

/** A session in a running sandbox. */
export interface ServedToolSession extends ToolSession {
  readonly place: ToolPlace;
  /** The entry for `mcpServers` of an MCP client inside the sandbox. Nobody inside can change the program. */
  readonly server: { readonly command: string; readonly args: readonly string[] };
}

export interface ToolSessionOptions extends Cancel {
  /** Names of tools. Default: the config's `mcp.tools`. Unknown names throw `invalid_input`. */
  readonly tools?: readonly string[] | undefined;
}

/** A running sandbox of a user and a chat. */
type OwnedSandbox = ToolSandbox & ToolOwner;

/** One call of a tool, in the audit. Arguments are shortened and free of secrets; answers are not stored. */
export interface ToolCallRecord extends ToolOwner {
  readonly at: number;
  readonly sandboxId: string;
  readonly sessionId: string;
  readonly tool: string;
  readonly arguments: string;
  /** `ok`, or the code of the error. */
  readonly outcome: string;
  readonly durationMs: number;
}

/** A server of the config's `mcp.servers`. Its tools are offered as `NAME__TOOL`. */
export interface ToolServerStatus {
  readonly name: string;
  /** `idle`: not needed yet. `failed`: tried again at the next need, after a pause. */
  readonly state: 'idle' | 'starting' | 'running' | 'failed';
  /** The tools that it offered at its last start. */
  readonly tools: readonly string[];
  /** Why it does not run, in the server's own words if it had any; null if it runs. */
  readonly reason: string | null;
}

/** The tools of a session, for an agent that works on the host. The agent calls them like a program inside. */
export interface ToolConnection extends AsyncDisposable {
  readonly tools: readonly {
    readonly name: string;
    readonly description: string;
    /** JSON Schema of its arguments. */
    readonly input: Readonly<Record<string, unknown>>;
  }[];
  /** Resolves to the tool's answer as text; `failed` if the tool reports a failure. */
  call(
    name: string,
    input: Readonly<Record<string, unknown>>,
    options?: Cancel,
  ): Promise<{ readonly text: string; readonly failed: boolean }>;
}

export interface ToolSessions extends SandboxTools, AsyncDisposable {
  /** Creates the session of a sandbox, or returns the existing one; `tools` replaces its list of tools. */
  open(sandbox: OwnedSandbox, options?: ToolSessionOptions): Promise<ServedToolSession>;
  /** Ends the existing session with its connections, and creates another. */
  replace(sandbox: OwnedSandbox, options?: ToolSessionOptions): Promise<ServedToolSession>;
  /** Undefined if there is no session. */
  get(user: string, chat: string): ToolSession | undefined;
  /** Oldest first. */
  list(user: string): readonly ToolSession[];
  /** Closes its connections and removes the socket. Returns false if there was no session. */
  close(user: string, chat: string, options?: Cancel): Promise<boolean>;
  /** Closes the sessions of one user, or of all users. Returns how many there were. */
  closeAll(user?: string, options?: Cancel): Promise<number>;
  /** Newest first; 100 by default. */
  calls(
    user: string,
    options?: { readonly chat?: string; readonly limit?: number },
  ): readonly ToolCallRecord[];
  /** Opens the session of a sandbox, or takes the existing one, and connects to it from the host. */
  connect(sandbox: OwnedSandbox, options?: Cancel): Promise<ToolConnection>;
  /** The operator's servers. */
  servers(): readonly ToolServerStatus[];
  /** The names of all possible tools; `NAME__*` for a server that was never started. */
  readonly available: readonly string[];
  /** Tools of a session without its own list: the config's `mcp.tools`. */
  readonly initial: readonly string[];
}

/** The tool sessions as the persistent sandboxes see them. */
export interface SandboxTools {
  /** Serves the session of a sandbox that this host took over, if it has one. Idempotent. */
  attach(sandbox: ToolSandbox, owner: ToolOwner, options?: Cancel): Promise<void>;
  /** Environment variables that show commands where the tools are; empty without a session. */
  env(sandboxId: string): Readonly<Record<string, string>>;
  /** The sandbox now has another chat's name. */
  rename(sandboxId: string, chat: string): void;
  /** Deletes the session of a removed sandbox. Idempotent: unknown ids are no error. */
  forget(sandboxId: string): void;
}

export type ToolSandbox = Pick<Sandbox, 'id' | 'limits' | 'tools' | 'files' | 'workdir' | 'env'>;

/** For sandboxes without sessions. */
export const noTools: SandboxTools = {
  attach: async () => {},
  env: () => ({}),
  rename: () => {},
  forget: () => {},
};
