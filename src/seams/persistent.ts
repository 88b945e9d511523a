import type { Duplex } from 'node:stream';
import type { Cancel } from '../base/cancel.ts';
import type { GeodeError } from '../base/errors.ts';
import type { Denial, EgressSpec } from './egress.ts';
import type { Files } from './files.ts';
import type { Journals } from './journal.ts';
import type { Limits, SoftLimit } from './limits.ts';
import type { Command, ExecOptions, ExecResult, Process, ProcessList, SignalName } from './process.ts';
import type { RuntimeName, SandboxFacts } from './runtime.ts';
import type { Activity, Grade, Metrics, SandboxSpec, Workspace } from './sandbox.ts';
import type { Snapshots } from './snapshots.ts';
import type { ToolDoor } from './tools.ts';

/**
 * Sandboxes that stay: one for each user and chat; they outlive the host. Users and chats are named
 * by the caller with any text of up to 8 kB; no name ever becomes a path, and none is guessed from another.
 */
export interface Sandboxes extends AsyncDisposable {
  /** Everything of one user, and nothing of another. There is no other way to a sandbox. */
  of(user: string): UserSandboxes;
  /** All sandboxes of all users; only for the operator of this host. */
  all(options?: Cancel): Promise<readonly SandboxStatus[]>;
  /** Has that many blank sandboxes ready for chats that are new. */
  warm(count: number, spec?: PersistentSpec, options?: Cancel): Promise<void>;
  /** Stops what is idle and removes what is old, as the policy says. It also runs by itself. */
  sweep(options?: Cancel): Promise<SweepReport>;
  /**
   * Lets go of everything: the sandboxes live on, with all that runs in them, for the next host.
   */
  [Symbol.asyncDispose](): Promise<void>;
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
  /** The sandbox of the chat, made or started if need be. Any number of calls at once get the same one. */
  getOrCreate(chat: string, spec?: PersistentSpec, options?: Cancel): Promise<PersistentSandbox>;
  /** Returns the existing sandbox and starts it if needed; throws `sandbox_not_found` if there is none. */
  start(chat: string, options?: Cancel): Promise<PersistentSandbox>;
  /** Ends its processes, politely first; the workspace and the journals stay. Stopped already: no error. */
  stop(chat: string, options?: Cancel): Promise<void>;
  /** Removes the sandbox and its workspace permanently. Returns false if there was none. */
  remove(chat: string, options?: Cancel): Promise<boolean>;
  /**
   * Another chat's sandbox, made as this one was, with a copy of its files as they are now or in a snapshot;
   * this one may be stopped or paused and stays so.
   * `sandbox_exists` when that chat has one; `cannot_enforce` where the files are not on this host.
   */
  fork(
    chat: string,
    to: string,
    options?: { readonly snapshot?: string } & Cancel,
  ): Promise<PersistentSandbox>;
  /** Stops the time of everything in it; `cannot_enforce` where the runtime cannot. Asking for it again goes on. */
  pause(chat: string, options?: Cancel): Promise<void>;
  list(options?: Cancel): Promise<readonly SandboxStatus[]>;
  inspect(chat: string, options?: Cancel): Promise<SandboxStatus>;
  /** Keeps it from the sweep for that long from now; a shorter time than it has already changes nothing. */
  extend(chat: string, ms: number): Promise<SandboxStatus>;
  /** The caller is busy with something that will come back to the sandbox by then; 0 takes it back. */
  thinkingUntil(chat: string, time: number): Promise<void>;
  /** Replaces its labels. */
  label(chat: string, labels: Readonly<Record<string, string>>): Promise<SandboxStatus>;
  /** It becomes another chat's; `sandbox_exists` when that has one. */
  rename(chat: string, to: string): Promise<SandboxStatus>;
  /** The network policy; undefined: nothing allowed. */
  egress(chat: string): Promise<EgressSpec | undefined>;
  /**
   * Takes effect at once in one that runs; no other change comes in between. Where there was no policy, the change
   * begins with one that denies everything. Commands that run already see new doors only if they know of them.
   */
  changeEgress(
    chat: string,
    change: (before: EgressSpec) => EgressSpec,
    options?: Cancel,
  ): Promise<EgressSpec>;
  /** The output of its processes, whether or not the sandbox is running. */
  journals(chat: string): Promise<Journals>;
}

/**
 * A sandbox that runs, for as long as it does: after a stop every call is `sandbox_stopped`, and starting it
 * again gives another handle. Letting a handle go costs nothing and stops nothing.
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
  /** Why it has ended, if it has. */
  readonly end: GeodeError | undefined;
  /** Where programs in it find the host's tools. */
  readonly tools?: ToolDoor;
  /** Base environment of its commands. */
  readonly env: Readonly<Record<string, string>>;
  /** Left out where its files are not on this host. */
  readonly snapshots?: Snapshots;
  /** With `undoable` its files are marked before, so that `snapshots.undo` can take back what it changed. */
  exec(command: Command, options?: ExecOptions & { readonly undoable?: boolean }): Promise<ExecResult>;
  spawn(command: Command, options?: SpawnOptions): Promise<Process>;
  processes(options?: Cancel): Promise<ProcessList>;
  /** Joins a process from a journal offset, also one that an earlier host started, also one that has ended. */
  attach(processId: string, options?: { readonly from?: number } & Cancel): Promise<Process>;
  signal(processId: string, name: SignalName, options?: { readonly tree?: boolean } & Cancel): Promise<void>;
  tunnel(port: number, options?: Cancel): Promise<Duplex>;
  metrics(options?: Cancel): Promise<Metrics>;
  /** Refused network requests since that time; only the latest are kept. */
  denials(since: number): readonly Denial[];
}

export interface SpawnOptions extends Cancel {
  /**
   * While a caller reads the handle, a slow reader slows the process down, as a pipe would. Otherwise the process
   * never waits, and a reader that is too far behind gets `output-lost` for the dropped part.
   */
  readonly inStep?: boolean;
}

export interface SandboxStatus {
  readonly id: string;
  readonly user: string;
  readonly chat: string;
  /** `unknown` when the runtime did not answer. */
  readonly state: SandboxFacts['state'];
  readonly runtime: RuntimeName;
  /** Left out where it never ran under this host and the runtime did not answer. */
  readonly grade?: Grade;
  readonly image: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly createdAt: number;
  /** When the last activity ended; now, while something goes on. */
  readonly activeAt: number;
  readonly keptUntil: number;
  readonly thinkingUntil: number;
}

export interface SweepReport {
  readonly stopped: readonly string[];
  readonly removed: readonly string[];
  /** Sandboxes that could not be swept, with the reason; the next sweep tries again. */
  readonly failed: readonly { readonly id: string; readonly reason: string }[];
}
