import type { Duplex } from 'node:stream';
import type { Cancel } from '../base/cancel.ts';
import type { GeodeError } from '../base/errors.ts';
import type { Checkpoint, CheckpointList } from './checkpoints.ts';
import type { Denial, EgressSpec } from './egress.ts';
import type { Files } from './files.ts';
import type { Journals } from './journal.ts';
import type { Limits, SoftLimit } from './limits.ts';
import type { Command, ExecOptions, ExecResult, Process, ProcessList, SignalName } from './process.ts';
import type { RuntimeName, SandboxFacts } from './runtime.ts';
import type { Activity, Grade, Metrics, SandboxSpec, Workspace } from './sandbox.ts';
import type { Snapshot, Snapshots, WorkspacePlace } from './snapshots.ts';
import type { ToolDoor } from './tools.ts';

/**
 * Persistent sandboxes: one for each user and chat; they survive the host. Users and chats have any name up to 8 kB.
 * Names are never used in paths, and no name can be derived from another.
 */
export interface Sandboxes extends AsyncDisposable {
  /** The sandboxes of one user. There is no other way to reach them. */
  of(user: string): UserSandboxes;
  /** The sandboxes of all users; only for the operator of this host. */
  all(options?: ListOptions): Promise<readonly SandboxStatus[]>;
  /** Keeps that many blank sandboxes ready for new chats. */
  warm(count: number, spec?: PersistentSpec, options?: Cancel): Promise<void>;
  /** Stops idle sandboxes and removes old ones by the policy. Also runs by itself. */
  sweep(options?: Cancel): Promise<SweepReport>;
  /** Detaches all sandboxes. They keep running, with everything in them, for the next host. */
  [Symbol.asyncDispose](): Promise<void>;
}

export interface KeptFiles extends WorkspacePlace {
  /** The id of the sandbox. */
  readonly id: string;
  readonly snapshot: Snapshot;
}

/** The settings of a persistent sandbox. They apply when the sandbox is created; an existing one must match them. */
export interface PersistentSpec extends Omit<SandboxSpec, 'id' | 'owner'> {
  readonly runtime?: RuntimeName;
  readonly labels?: Readonly<Record<string, string>>;
  /** The network policy (default: nothing allowed). Change it at any time with `UserSandboxes.changeEgress`. */
  readonly egress?: EgressSpec;
}

export interface UserSandboxes {
  readonly user: string;
  /** The sandbox of the chat, created or started if needed. Concurrent calls get the same one. */
  getOrCreate(chat: string, spec?: PersistentSpec, options?: Cancel): Promise<PersistentSandbox>;
  /** Returns the existing sandbox and starts it if needed; throws `sandbox_not_found` if there is none. */
  start(chat: string, options?: Cancel): Promise<PersistentSandbox>;
  /** Ends its processes, SIGTERM first; the workspace and the journals stay. No error if it is already stopped. */
  stop(chat: string, options?: Cancel): Promise<void>;
  /** Removes the sandbox and its workspace permanently. Returns false if there was none. */
  remove(chat: string, options?: Cancel): Promise<boolean>;
  /**
   * Creates another chat's sandbox with the same settings and a copy of the files, as they are now or in a snapshot.
   * This one may be stopped or paused and stays so. `live` copies its processes and their memory too, as they are now or
   * in a checkpoint; a hibernated one is woken for that. Throws `sandbox_exists` if that chat has one, and
   * `cannot_enforce` where the files are not on this host or the memory cannot be saved.
   */
  fork(chat: string, to: string, options?: ForkOptions & Cancel): Promise<PersistentSandbox>;
  /**
   * Saves memory, files and journals at one moment; wakes it if it hibernates. Throws `cannot_enforce` where the runtime
   * cannot, `sandbox_stopped` if nothing runs, `checkpoint_limit` if the user has no room for it.
   */
  checkpoint(chat: string, options?: { readonly name?: string | undefined } & Cancel): Promise<Checkpoint>;
  /** Its checkpoints, whether or not it runs. */
  checkpoints(chat: string): Promise<CheckpointList>;
  removeCheckpoint(chat: string, name: string): Promise<boolean>;
  /**
   * Saves its memory on disk and frees it; the next use continues every process. Throws `cannot_enforce` where the
   * runtime cannot. No error if it hibernates already.
   */
  hibernate(chat: string, options?: Cancel): Promise<void>;
  /**
   * Calls `work` with a snapshot of the files as they are now, which is removed afterwards. The sandbox is not started
   * and is free for others during `work`. Undefined where the files are not on this host.
   */
  withSnapshot<T>(
    chat: string,
    work: (kept: KeptFiles) => Promise<T>,
    options?: Cancel,
  ): Promise<T | undefined>;
  /** Freezes every process in it. Throws `cannot_enforce` where the runtime cannot. The next use resumes it. */
  pause(chat: string, options?: Cancel): Promise<void>;
  list(options?: ListOptions): Promise<readonly SandboxStatus[]>;
  inspect(chat: string, options?: Cancel): Promise<SandboxStatus>;
  /** Protects it from automatic stops and removal for that long. Never shortens a longer protection. */
  extend(chat: string, ms: number): Promise<SandboxStatus>;
  /** The caller will use the sandbox again within this time; 0 ends the reservation. */
  thinkingUntil(chat: string, time: number): Promise<void>;
  /** Replaces its labels. */
  label(chat: string, labels: Readonly<Record<string, string>>): Promise<SandboxStatus>;
  /** Gives the sandbox to another chat. Throws `sandbox_exists` if that chat has one. */
  rename(chat: string, to: string): Promise<SandboxStatus>;
  /** The network policy; undefined: nothing allowed. */
  egress(chat: string): Promise<EgressSpec | undefined>;
  /**
   * Takes effect at once in a running sandbox. Changes run one at a time. Without a policy the change starts from one
   * that denies everything. Running commands keep their environment, so they do not learn of a new bridge or binding.
   */
  changeEgress(
    chat: string,
    change: (before: EgressSpec) => EgressSpec,
    options?: Cancel,
  ): Promise<EgressSpec>;
  /** The output of its processes, whether or not the sandbox is running. */
  journals(chat: string): Promise<Journals>;
}

export interface ForkOptions {
  readonly snapshot?: string | undefined;
  /** Copies processes and memory too. */
  readonly live?: boolean | undefined;
  /** With `live`: the checkpoint to copy, in place of this moment. */
  readonly checkpoint?: string | undefined;
  /**
   * These labels and this network policy in place of the source's own. Throws `cannot_enforce` for a source whose copy
   * could still change something outside: without walls, with its own network, or with a writable mount.
   */
  readonly sealed?: SealedFork | undefined;
}

export interface SealedFork {
  readonly labels: Readonly<Record<string, string>>;
  readonly egress: EgressSpec;
}

/**
 * A running sandbox. After a stop every call throws `sandbox_stopped`, and starting it again returns another handle.
 * Dropping a handle is free and stops nothing.
 */
export interface PersistentSandbox extends Omit<Workspace, 'exec' | 'spawn'> {
  readonly user: string;
  readonly chat: string;
  readonly runtime: string;
  readonly grade: Grade;
  readonly limits: Limits;
  readonly softLimits: readonly SoftLimit[];
  readonly rootFiles: Files;
  readonly journals: Journals;
  readonly activity: Activity;
  /** Why it has ended; undefined while it runs. */
  readonly end: GeodeError | undefined;
  /** Where programs in it find the host's tools. */
  readonly tools?: ToolDoor;
  /** Base environment of its commands. */
  readonly env: Readonly<Record<string, string>>;
  /** Missing where its files are not on this host. */
  readonly snapshots?: Snapshots;
  /** With `undoable`, its files are recorded first, so that `snapshots.undo` can restore them. */
  exec(command: Command, options?: ExecOptions & { readonly undoable?: boolean }): Promise<ExecResult>;
  spawn(command: Command, options?: SpawnOptions): Promise<Process>;
  processes(options?: Cancel): Promise<ProcessList>;
  /** Joins a process from a journal offset, even one that an earlier host started or that has ended. */
  attach(processId: string, options?: { readonly from?: number } & Cancel): Promise<Process>;
  signal(processId: string, name: SignalName, options?: { readonly tree?: boolean } & Cancel): Promise<void>;
  tunnel(port: number, options?: Cancel): Promise<Duplex>;
  metrics(options?: Cancel): Promise<Metrics>;
  /** Refused network requests since that time; only the latest are kept. */
  denials(since: number): readonly Denial[];
}

export interface SpawnOptions extends Cancel {
  /**
   * While a caller reads the handle, a slow reader slows the process down, like a pipe. Without a reader the process
   * never waits, and a reader that is too far behind gets `output-lost` for the dropped part.
   */
  readonly inStep?: boolean;
}

export interface SandboxStatus {
  readonly id: string;
  readonly user: string;
  readonly chat: string;
  /** `unknown` if the runtime did not answer. */
  readonly state: SandboxFacts['state'];
  readonly runtime: RuntimeName;
  /** Missing if it never ran under this host and the runtime did not answer. */
  readonly grade?: Grade;
  readonly image: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly createdAt: number;
  /** When the last activity ended; the current time while there is activity. */
  readonly activeAt: number;
  readonly keptUntil: number;
  readonly thinkingUntil: number;
  /** A list that asks for it gets this of each running sandbox that answers at once. */
  readonly usage?: SandboxUsage;
}

export interface SandboxUsage {
  /** Average number of CPUs since the list before, or since the start of the sandbox. */
  readonly cpus: number;
  readonly memoryBytes: number;
  /** Null without a limit. */
  readonly memoryLimit: number | null;
}

export interface ListOptions extends Cancel {
  /** Measures running sandboxes, without waiting for one that is slow. This is no activity of the sandbox. */
  readonly usage?: boolean;
}

export interface SweepReport {
  readonly stopped: readonly string[];
  readonly hibernated: readonly string[];
  readonly removed: readonly string[];
  /** Sandboxes that could not be stopped or removed, with the reason; the next sweep tries again. */
  readonly failed: readonly { readonly id: string; readonly reason: string }[];
}
