import type { Duplex } from 'node:stream';
import type { Cancel } from '../base/cancel.ts';
import type { GeodeError } from '../base/errors.ts';
import type { Checkpoints } from './checkpoints.ts';
import type { Hatch } from './egress.ts';
import type { Files } from './files.ts';
import type { Journals } from './journal.ts';
import type { Limits, SoftLimit } from './limits.ts';
import type { Command, ExecOptions, ExecResult, Process, ProcessList, SignalName } from './process.ts';
import type { ToolDoor } from './tools.ts';

/**
 * Strength of the walls, weakest first: `none` (the host's own user), `os` (namespaces without a daemon), `container`
 * (a hardened container), `kernel` (a kernel of its own: gVisor, Kata, a VM).
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
 * The settings of a sandbox. Every given field is enforced, or `open` throws `cannot_enforce`; nothing is weakened. A
 * missing field takes the runtime's default.
 */
export interface SandboxSpec {
  /** Default: the host chooses it. */
  readonly id?: string;
  readonly owner?: string;
  readonly image?: string;
  /** Base environment of every command. Complete, except for PATH, HOME, LANG and USER. */
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

/** The part of a sandbox that tools get: commands and files, but not start and stop. */
export interface Workspace {
  readonly id: string;
  /** Where commands start and relative paths begin. */
  readonly workdir: string;
  /** Paths of these files cannot leave the workdir, not even through links. */
  readonly files: Files;
  /** Waits for the exit. A cancel kills the whole tree and rejects with `cancelled`. */
  exec(command: Command, options?: ExecOptions): Promise<ExecResult>;
  /** Resolves when the program has started. Throws `spawn_failed` if it cannot start. */
  spawn(command: Command, options?: Cancel): Promise<Process>;
}

/** The part of a sandbox that its owner gets. `stop` ends every process and frees everything. Idempotent. */
export interface Sandbox extends Workspace, AsyncDisposable {
  readonly runtime: string;
  readonly grade: Grade;
  readonly limits: Limits;
  /** Limits that the guest enforces by counting, see `Capabilities.softLimits`. */
  readonly softLimits: readonly SoftLimit[];
  /** The whole file system of the sandbox, within its user's permissions. */
  readonly rootFiles: Files;
  /** A folder outside the workdir whose files are deleted with the sandbox. */
  readonly scratch: string;
  /** Environment of every command, including the image's, unless the command overrides it. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * Starts a program before its command is known. The program writes a NUL byte to stdout, then waits for the
   * command's `opening` on stdin. Resolves when it waits; throws `spawn_failed` if it does not. The next command uses
   * it or ends it, so there is at most one. Missing in shared sandboxes.
   */
  prepare?(command: Command, options?: Cancel): Promise<void>;
  processes(options?: Cancel): Promise<ProcessList>;
  /** Joins a process from a journal offset (default 0: all of it). */
  attach(processId: string, options?: { readonly from?: number } & Cancel): Promise<Process>;
  signal(processId: string, name: SignalName, options?: { readonly tree?: boolean } & Cancel): Promise<void>;
  /** A connection to a port on the sandbox's own loopback, paused: iterate it, pipe it, or call `resume()`. */
  tunnel(port: number, options?: Cancel): Promise<Duplex>;
  metrics(options?: Cancel): Promise<Metrics>;
  /** The smallest request: resolves when the guest has answered. */
  ping(options?: Cancel): Promise<void>;
  /** Missing where the runtime cannot freeze a sandbox. */
  readonly freezer?: Freezer;
  /** It was opened from the memory of another sandbox, so processes run in it already. */
  readonly isCopy?: boolean;
  /** Missing where the runtime cannot save the memory of a sandbox. */
  readonly checkpoints?: Checkpoints;
  /** The way out that a policy opens. Missing in shared sandboxes: their owner holds it. */
  readonly hatch?: Hatch;
  /** Where programs in it find the host's tools. Missing in shared sandboxes. */
  readonly tools?: ToolDoor;
  /** The output of its processes, even after they and their host have ended. */
  readonly journals: Journals;
  readonly activity: Activity;
  /** Why it has ended; undefined if it has not. The runtime is asked whenever the link is lost. */
  readonly end: GeodeError | undefined;
  /** Detaches without stopping: the sandbox lives for its lease and can be adopted. */
  release(): Promise<void>;
  /** Ends every process and the walls; keeps the workspace and the journals for `Runtime.start`. Idempotent. */
  halt(): Promise<void>;
  stop(): Promise<void>;
}

/** Activity on the link, as this host sees it. Reading metrics or the list of processes does not count. */
export interface Activity {
  /** Open calls, followed processes, tunnels and streams. */
  readonly open: number;
  /** When the last of them ended, in ms since 1970; if there were none, when the host took the sandbox. */
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
  /** Resolves when its guest has answered. Idempotent. */
  resume(options?: Cancel): Promise<void>;
  /**
   * Freezes without marking it paused, until the result is disposed of. Calls wait instead of being refused. Each
   * waits no longer than its own deadline, so a long freeze may end some with `timed_out`; the link survives.
   */
  hold(options?: Cancel): Promise<AsyncDisposable>;
}

export interface Metrics {
  readonly memoryBytes: number;
  readonly cpuMs: number;
  /** Tasks, threads included: what `limits.pids` counts. */
  readonly pids: number;
  /** The guest not included. */
  readonly processes: number;
  readonly guestRssBytes: number;
  readonly uptimeMs: number;
  readonly oomKills: number;
  /** Disk use of the workspace and its size, if it has its own file system. */
  readonly disk: { readonly usedBytes: number; readonly limitBytes: number } | null;
}
