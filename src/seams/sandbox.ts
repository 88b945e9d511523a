import type { Duplex } from 'node:stream';
import type { Cancel } from '../base/cancel.ts';
import type { GeodeError } from '../base/errors.ts';
import type { Hatch } from './egress.ts';
import type { Files } from './files.ts';
import type { Journals } from './journal.ts';
import type { Limits, SoftLimit } from './limits.ts';
import type { Command, ExecOptions, ExecResult, Process, ProcessList, SignalName } from './process.ts';
import type { ToolDoor } from './tools.ts';

/**
 * How strong the walls are, weakest first: `none` (the host's own user), `os` (namespaces without a
 * daemon), `container` (a hardened container), `kernel` (a kernel of its own: gVisor, Kata, a VM).
 */
export const grades = ['none', 'os', 'container', 'kernel'] as const;
export type Grade = (typeof grades)[number];

export function isAtLeast(grade: Grade, wanted: Grade): boolean {
  return grades.indexOf(grade) >= grades.indexOf(wanted);
}

export interface Mount {
  /** A folder or file on the host, below one of the allowed roots. */
  readonly source: string;
  /** An absolute path in the sandbox. */
  readonly target: string;
  readonly writable?: boolean;
}

export const networks = ['none', 'bridge'] as const;
export type Network = (typeof networks)[number];

/**
 * The settings of a sandbox. Every given field is enforced, or `open` refuses with
 * `cannot_enforce`; nothing is weakened. A field that is left out takes the runtime's default.
 */
export interface SandboxSpec {
  /** Chosen by the host when left out. */
  readonly id?: string;
  readonly owner?: string;
  readonly image?: string;
  /** Base environment of every command: the whole of it, besides PATH, HOME, LANG and USER. */
  readonly env?: Readonly<Record<string, string>>;
  readonly limits?: Limits;
  readonly mounts?: readonly Mount[];
  readonly network?: Network;
  /** Refuse anything weaker than this. */
  readonly minimumGrade?: Grade;
  /** Commands may run as any user of the sandbox, root included; the root file system is writable. */
  readonly rootAccess?: boolean;
  /** How long the sandbox lives without a host; `null`: until it is stopped. Default 60 s. */
  readonly leaseMs?: number | null;
}

/** The part of a sandbox that tools get: commands and files, without the lifecycle. */
export interface Workspace {
  readonly id: string;
  /** Where commands start and relative paths begin. */
  readonly workdir: string;
  /** Paths of these files cannot leave the workdir, whatever links are in the way. */
  readonly files: Files;
  /** Waits for the end. A cancel kills the whole tree and rejects with `cancelled`. */
  exec(command: Command, options?: ExecOptions): Promise<ExecResult>;
  /** Resolves when the program has started; `spawn_failed` when it cannot. */
  spawn(command: Command, options?: Cancel): Promise<Process>;
}

/** The part of a sandbox that its owner gets. `stop` ends every process and frees everything; it is idempotent. */
export interface Sandbox extends Workspace, AsyncDisposable {
  readonly runtime: string;
  readonly grade: Grade;
  readonly limits: Limits;
  /** Limits that the guest holds by counting, see `Capabilities.softLimits`. */
  readonly softLimits: readonly SoftLimit[];
  /** The whole file system of the sandbox, as far as its user may go. */
  readonly rootFiles: Files;
  /** A folder outside of the workdir whose files go with the sandbox. */
  readonly scratch: string;
  /** Environment of every command, the image's included, unless the command overrides it. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * Starts a program before its command is known. It has to write a NUL byte to stdout and then to wait for the
   * command's `opening` on stdin; this resolves when it waits, and rejects with `spawn_failed` when it does not. The
   * next command takes it or ends it, so that there is never more than one. Left out of sandboxes that several share.
   */
  prepare?(command: Command, options?: Cancel): Promise<void>;
  processes(options?: Cancel): Promise<ProcessList>;
  /** Joins a process from a journal offset (default 0: all of it). */
  attach(processId: string, options?: { readonly from?: number } & Cancel): Promise<Process>;
  signal(processId: string, name: SignalName, options?: { readonly tree?: boolean } & Cancel): Promise<void>;
  /** A connection to a port on the sandbox's own loopback, paused: iterate it, pipe it, or `resume()` it. */
  tunnel(port: number, options?: Cancel): Promise<Duplex>;
  metrics(options?: Cancel): Promise<Metrics>;
  /** The smallest question there is: resolves when the guest has answered. */
  ping(options?: Cancel): Promise<void>;
  /** Left out where the runtime cannot freeze a sandbox. */
  readonly freezer?: Freezer;
  /** The way out that a policy opens. Left out of sandboxes that several share: their owner holds it. */
  readonly hatch?: Hatch;
  /** Where programs in it find the host's tools. Left out of sandboxes that several share. */
  readonly tools?: ToolDoor;
  /** The output of its processes, also after they and their host have ended. */
  readonly journals: Journals;
  readonly activity: Activity;
  /** Why it has ended, if it has: asked of the runtime whenever the link is lost. */
  readonly end: GeodeError | undefined;
  /** Lets go without stopping: the sandbox lives on for its lease and can be adopted. */
  release(): Promise<void>;
  /** Ends every process and the walls, and keeps the workspace and the journals for `Runtime.start`. Idempotent. */
  halt(): Promise<void>;
  stop(): Promise<void>;
}

/** Activity on the link, as this host sees it. Reading metrics or the list of processes does not count. */
export interface Activity {
  /** Calls, followed processes, tunnels and streams that are open now. */
  readonly open: number;
  /** When the last of them ended, in ms since 1970; when the host took the sandbox, if none did. */
  readonly endedAt: number;
}

/**
 * Freezes every process in a sandbox, its guest included; leases and command timeouts stop too. New calls are
 * refused with `sandbox_paused`; calls in progress and followed processes wait. A paused sandbox stays paused, even
 * without a host, until it is resumed, halted or removed.
 */
export interface Freezer {
  readonly paused: boolean;
  /** Idempotent. */
  pause(options?: Cancel): Promise<void>;
  /** Ready when its guest has answered. Idempotent. */
  resume(options?: Cancel): Promise<void>;
  /**
   * Holds everything still until the result is disposed of: calls are not refused, they wait. Each waits no longer
   * than its own deadline, so that a long hold may end some with `timed_out`; the link outlasts it.
   */
  hold(options?: Cancel): Promise<AsyncDisposable>;
}

export interface Metrics {
  readonly memoryBytes: number;
  readonly cpuMs: number;
  /** Tasks, threads included: what `limits.pids` counts. */
  readonly pids: number;
  /** Besides the guest. */
  readonly processes: number;
  readonly guestRssBytes: number;
  readonly uptimeMs: number;
  readonly oomKills: number;
  /** Disk use of the workspace and its size, if it has its own file system. */
  readonly disk: { readonly usedBytes: number; readonly limitBytes: number } | null;
}
