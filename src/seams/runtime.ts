import type { Cancel } from '../base/cancel.ts';
import type { RuntimeCheckpoints } from './checkpoints.ts';
import type { Images } from './images.ts';
import type { Journals } from './journal.ts';
import type { SoftLimit } from './limits.ts';
import type { Grade, Network, Sandbox, SandboxSpec } from './sandbox.ts';
import type { WorkspacePlace } from './snapshots.ts';

export const runtimeNames = ['docker', 'oci', 'apple', 'bubblewrap', 'native'] as const;
export type RuntimeName = (typeof runtimeNames)[number];

/**
 * The guarantees of a runtime on this machine. A spec that asks for more is refused. The contract suite reads the
 * same table, so every declared guarantee is tested.
 */
export interface Capabilities {
  /** The host's files, processes and secrets are out of reach. */
  readonly isolation: boolean;
  readonly limits: {
    readonly memory: boolean;
    readonly cpus: boolean;
    readonly pids: boolean;
    /**
     * A disk limit for the workspace. Other writable places are in memory, or in the image's layer with `rootAccess`.
     */
    readonly disk: boolean;
  };
  /**
   * Soft limits: the guest enforces them by counting and killing, because this host has no control group for them. A
   * sandbox may exceed them for a moment. Empty if the kernel enforces all of `limits`.
   */
  readonly softLimits: readonly SoftLimit[];
  readonly images: boolean;
  readonly networks: readonly Network[];
  readonly mounts: boolean;
  /** Commands can run as another user: always, only with `rootAccess`, or never. */
  readonly users: 'always' | 'root-access' | 'never';
  /** A sandbox outlives its host and can be adopted by the next one. */
  readonly adoption: boolean;
  /** Its sandboxes have a `freezer`. */
  readonly pause: boolean;
  /** Its sandboxes have `checkpoints`. */
  readonly checkpoints: boolean;
}

export interface Available {
  readonly available: true;
  readonly grade: Grade;
  /** For display: "Docker Engine 20.10.24, runc". */
  readonly version: string;
  readonly capabilities: Capabilities;
}

export interface Unavailable {
  readonly available: false;
  readonly reason: string;
  /** The command or action that would make it available. */
  readonly fix: string;
}

/**
 * `hibernated`: its memory is on disk, and `start` continues its processes. `unknown`: the runtime did not answer.
 */
export const sandboxStates = ['running', 'paused', 'hibernated', 'stopped', 'unknown'] as const;
export type SandboxState = (typeof sandboxStates)[number];

/** Facts about a sandbox, read from the runtime itself, not from a record. */
export interface SandboxFacts {
  readonly id: string;
  readonly owner: string | null;
  readonly state: SandboxState;
  readonly grade: Grade;
  readonly createdAt: number;
}

export interface HostWorkspaces {
  /** Of any sandbox, even a halted one. The sandbox made its content: follow no links there. */
  hold(id: string): Promise<AttachedWorkspace>;
}

/** A workspace that stays in place until it is disposed of, even if its sandbox is removed. */
export interface AttachedWorkspace extends WorkspacePlace, AsyncDisposable {}

/** A place that can open sandboxes. Has no global state; importing one has no effect. */
export interface Runtime {
  readonly name: RuntimeName;
  /** Missing in a runtime without images, or whose images Geode does not pull. */
  readonly images?: Images;
  /** Without an image, its sandboxes have the machine's own programs. Missing if they always have an image, or never. */
  readonly hasMachinePrograms?: true;
  /** Missing where workspaces are not folders of this host. */
  readonly workspaces?: HostWorkspaces;
  /** Missing where the memory of sandboxes cannot be saved. */
  readonly checkpoints?: RuntimeCheckpoints;
  /** Never throws and never hangs: a deadline returns "unavailable" with its reason. */
  probe(options?: Cancel): Promise<Available | Unavailable>;
  /** Resolves when its guest has answered. A failure leaves nothing behind. */
  open(spec: SandboxSpec, options?: Cancel): Promise<Sandbox>;
  /**
   * Adopts a sandbox of an earlier host. Throws `sandbox_gone` if it does not exist any more. A paused sandbox stays
   * paused. A sandbox that was only held still when its host was killed runs on.
   */
  adopt(id: string, options?: Cancel): Promise<Sandbox>;
  /**
   * Builds walls around the workspace of a sandbox that was halted or that ended. Uses the same settings as before,
   * and refuses if they are no longer available. After a failure it stays halted. A hibernated sandbox continues with
   * its processes; after a failure it stays hibernated.
   */
  start(id: string, options?: Cancel): Promise<Sandbox>;
  /**
   * Ends the walls of a sandbox that no host holds, and keeps the rest; drops the memory of a hibernated one unless
   * `keepMemory` is set. No error if it is already halted.
   */
  halt(id: string, options?: { readonly keepMemory?: boolean } & Cancel): Promise<void>;
  /** Opens the output of a sandbox's processes for reading, also while it is halted; throws `sandbox_gone` if there is no such sandbox. */
  journals(id: string): Promise<Journals>;
  /** Records a new owner. Atomic: a host killed half-way leaves the old or the new owner. */
  assign(id: string, owner: string): Promise<void>;
  /** All sandboxes on record in this installation. Reads only the records, so it never waits for a sandbox. */
  recorded(): Promise<readonly Pick<SandboxFacts, 'id' | 'owner' | 'createdAt'>[]>;
  /** Every sandbox of this installation, even without a host; or the existing ones among the given ids. */
  list(options?: { readonly ids?: readonly string[] } & Cancel): Promise<readonly SandboxFacts[]>;
  /**
   * The ids of everything that sandboxes of this installation left or still use, even without a record: folders,
   * containers, volumes, control groups, processes.
   */
  traces(options?: Cancel): Promise<readonly string[]>;
  /** Removes a sandbox completely, running or not. Idempotent: unknown ids are no error. */
  remove(id: string, options?: Cancel): Promise<void>;
}
