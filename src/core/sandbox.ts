import type { Duplex } from 'node:stream';
import type { Cancel } from './cancel.ts';
import type { Files } from './files.ts';
import type { Limits } from './limits.ts';
import type { Command, ExecOptions, ExecResult, Process, ProcessList, SignalName } from './process.ts';

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

export type Network = 'none' | 'bridge';

/**
 * What a sandbox shall be. Every field that is given is honoured or the open is refused with
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

/** What tools are given: a place to run commands and keep files, without its lifecycle. */
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

/** What an owner holds. `stop` ends every process and frees everything; it is idempotent. */
export interface Sandbox extends Workspace, AsyncDisposable {
  readonly runtime: string;
  readonly grade: Grade;
  readonly limits: Limits;
  /** The whole file system of the sandbox, as far as its user may go. */
  readonly rootFiles: Files;
  processes(options?: Cancel): Promise<ProcessList>;
  /** Joins a process from a journal offset (default 0: all of it). */
  attach(processId: string, options?: { readonly from?: number } & Cancel): Promise<Process>;
  signal(processId: string, name: SignalName, options?: { readonly tree?: boolean } & Cancel): Promise<void>;
  /** A connection to a port on the sandbox's own loopback, paused: iterate it, pipe it, or `resume()` it. */
  tunnel(port: number, options?: Cancel): Promise<Duplex>;
  metrics(options?: Cancel): Promise<Metrics>;
  /** The smallest question there is: resolves when the guest has answered. */
  ping(options?: Cancel): Promise<void>;
  /** Lets go without stopping: the sandbox lives on for its lease and can be adopted. */
  release(): Promise<void>;
  stop(): Promise<void>;
}

export interface Metrics {
  readonly memoryBytes: number;
  readonly cpuMs: number;
  readonly pids: number;
  readonly guestRssBytes: number;
  readonly uptimeMs: number;
  readonly oomKills: number;
}
