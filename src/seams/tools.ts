import type { Duplex } from 'node:stream';
import type { Cancel } from '../base/cancel.ts';
import type { Limits } from './limits.ts';
import type { Sandbox } from './sandbox.ts';

/** Where programs in a sandbox find the host's tools. All paths are in the sandbox. */
export interface ToolPlace {
  /** A Unix socket that speaks the Model Context Protocol, one JSON message a line. */
  readonly socket: string;
  /** Holds `geode-mcp`, which joins stdin and stdout to the socket; commands have it in their PATH. */
  readonly folder: string;
  /** The guest program. `<guest> mcp <socket>` is the same as `geode-mcp`, in a place that nobody inside can write to. */
  readonly guest: string;
}

/** The socket through which programs in a sandbox use the host's tools. Only the sandbox's own user can connect to it. */
export interface ToolDoor {
  /** Idempotent: the same place every time, also for the next host. The socket stays when the host goes. */
  open(options?: Cancel): Promise<ToolPlace>;
  /** Closed already: no error. Connections that were picked up go on. */
  close(options?: Cancel): Promise<void>;
  /** Hands over every connection. One caller at a time; the result ends it. The streams are the caller's to end. */
  serve(onConnection: (stream: Duplex) => void): Disposable;
}

/** The owner of the sandbox. */
export interface ToolOwner {
  readonly user: string;
  readonly chat: string;
}

/**
 * Tools of the host, offered to the programs in the sandbox of one user and chat. There is one session for each such
 * sandbox. It stays until it is closed or its sandbox is removed: it outlives hosts, and stops of the sandbox.
 */
export interface ToolSession extends ToolOwner {
  readonly id: string;
  readonly sandboxId: string;
  /** The names of the tools that it may use. */
  readonly tools: readonly string[];
  readonly createdAt: number;
}

/** The sandbox that a call comes from. Code that the host runs for the call reaches and uses no more than it may. */
export interface ToolReach extends ToolOwner {
  readonly sandboxId: string;
  readonly limits: Limits;
  /** With so many schedules in its chat it adds none. */
  readonly mostSchedules: number;
  /** Which memory it writes; `user`: a person allowed it for this call. */
  readonly memory: 'chat' | 'user';
}

/** A session in a sandbox that runs. */
export interface ServedToolSession extends ToolSession {
  readonly place: ToolPlace;
  /** As it stands in the `mcpServers` of an MCP client inside: nobody inside can change the program. */
  readonly server: { readonly command: string; readonly args: readonly string[] };
}

export interface ToolSessionOptions extends Cancel {
  /** Names of tools; the config's `mcp.tools` by default. Unknown ones are `invalid_input`. */
  readonly tools?: readonly string[] | undefined;
}

/** A sandbox of a user and a chat that runs. */
type ToolSandbox = AttachedSandbox & ToolOwner;

/** One call of a tool, in the audit. Arguments are cut and without secrets; answers are not kept. */
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

/** A server of the config's `mcp.servers`, whose tools are offered on as `NAME__TOOL`. */
export interface ToolServerStatus {
  readonly name: string;
  /** `idle`: nobody has needed it yet. `failed`: it is tried again when somebody needs it, after a pause. */
  readonly state: 'idle' | 'starting' | 'running' | 'failed';
  /** The tools that it offered at its last start. */
  readonly tools: readonly string[];
  /** Why it does not run, in its own words where it had any; null otherwise. */
  readonly reason: string | null;
}

/** The tools of a session in the hands of an agent that works on the host. The agent calls as a program inside would. */
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
  /** Makes the session of a sandbox, or gives the one that is there; with `tools`, it has exactly these from now on. */
  open(sandbox: ToolSandbox, options?: ToolSessionOptions): Promise<ServedToolSession>;
  /** Ends the one that is there, with its connections, and makes another. */
  replace(sandbox: ToolSandbox, options?: ToolSessionOptions): Promise<ServedToolSession>;
  /** Undefined if there is no session. */
  get(user: string, chat: string): ToolSession | undefined;
  /** Oldest first. */
  list(user: string): readonly ToolSession[];
  /** Closes its connections and removes the socket. Returns false if there was no session. */
  close(user: string, chat: string, options?: Cancel): Promise<boolean>;
  /** Closes the sessions of one user, or of all. Returns how many there were. */
  closeAll(user?: string, options?: Cancel): Promise<number>;
  /** Newest first; 100 by default. */
  calls(
    user: string,
    options?: { readonly chat?: string; readonly limit?: number },
  ): readonly ToolCallRecord[];
  /** Opens the session of a sandbox, or takes the one that is there, and connects to it from the host. */
  connect(sandbox: ToolSandbox, options?: Cancel): Promise<ToolConnection>;
  /** The servers of the operator. */
  servers(): readonly ToolServerStatus[];
  /** The names of all tools that a session can have; of a server that was never started, `NAME__*`. */
  readonly available: readonly string[];
  /** Tools of a session that names none: the config's `mcp.tools`. */
  readonly initial: readonly string[];
}

/** The tool sessions as the persistent sandboxes see them. */
export interface SandboxTools {
  /** A sandbox has come into this host's hands: its session, if it has one, is served from now on. Idempotent. */
  attach(sandbox: AttachedSandbox, owner: ToolOwner, options?: Cancel): Promise<void>;
  /** Environment variables with which its commands find the tools; empty without a session. */
  env(sandboxId: string): Readonly<Record<string, string>>;
  /** It has another chat's name now. */
  rename(sandboxId: string, chat: string): void;
  /** Forgets a sandbox that was removed. Idempotent: unknown ids are no error. */
  forget(sandboxId: string): void;
}

export type AttachedSandbox = Pick<Sandbox, 'id' | 'limits' | 'tools' | 'files' | 'workdir' | 'env'>;

/** For sandboxes without sessions. */
export const noTools: SandboxTools = {
  attach: async () => {},
  env: () => ({}),
  rename: () => {},
  forget: () => {},
};
