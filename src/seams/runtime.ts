import type { Cancel } from '../base/cancel.ts';
import type { Images } from './images.ts';
import type { Journals } from './journal.ts';
import type { SoftLimit } from './limits.ts';
import type { Grade, Network, Sandbox, SandboxSpec } from './sandbox.ts';
import type { WorkspacePlace } from './snapshots.ts';

export const runtimeNames = ['docker', 'oci', 'apple', 'bubblewrap', 'native'] as const;
export type RuntimeName = (typeof runtimeNames)[number];

/**
 * The guarantees of a runtime on this machine. A spec that asks for more is refused; the contract suite
 * reads the same table, so a promise that is declared is a promise that is tested.
 */
export interface Capabilities {
  /** The host's files, processes and secrets are out of reach. */
  readonly isolation: boolean;
  readonly limits: {
    readonly memory: boolean;
    readonly cpus: boolean;
    readonly pids: boolean;
    /** A disk limit for the workspace. Other writable places are in memory, or in the image's layer with `rootAccess`. */
    readonly disk: boolean;
  };
  /**
   * Soft limits: the guest holds them by counting and killing, because this host has no control group for them. A
   * sandbox may exceed them for a moment. Empty where the kernel holds all of `limits`.
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
}

export interface Available {
  readonly available: true;
  readonly grade: Grade;
  /** For people: "Docker Engine 20.10.24, runc". */
  readonly version: string;
  readonly capabilities: Capabilities;
}

export interface Unavailable {
  readonly available: false;
  readonly reason: string;
  /** The command or action that would make it available. */
  readonly fix: string;
}

/** Facts about a sandbox, read from the runtime itself and not from a record. */
export interface SandboxFacts {
  readonly id: string;
  readonly owner: string | null;
  /** `unknown` when what would know did not answer. */
  readonly state: 'running' | 'paused' | 'stopped' | 'unknown';
  readonly grade: Grade;
  readonly createdAt: number;
}

export interface HostWorkspaces {
  /** Of any sandbox, also one that is halted. What is in it was made by the sandbox: follow no link there. */
  hold(id: string): Promise<HeldWorkspace>;
}

/** A workspace that stays in place until it is disposed of, even if its sandbox is removed. */
export interface HeldWorkspace extends WorkspacePlace, AsyncDisposable {}

/** A place that can open sandboxes. Holds no global state; importing one does nothing. */
export interface Runtime {
  readonly name: RuntimeName;
  /** Left out by a runtime whose images are not ours to fetch, or that has none. */
  readonly images?: Images;
  /** Left out where workspaces are not folders of this host. */
  readonly workspaces?: HostWorkspaces;
  /** Never throws and never hangs: a deadline counts as a "no" with its reason. */
  probe(options?: Cancel): Promise<Available | Unavailable>;
  /** Ready when its guest has answered. On any failure nothing is left behind. */
  open(spec: SandboxSpec, options?: Cancel): Promise<Sandbox>;
  /**
   * Takes over a sandbox that an earlier host made; `sandbox_gone` when it is not there any more. One that is
   * paused stays so; one that its host was killed while holding still goes on.
   */
  adopt(id: string, options?: Cancel): Promise<Sandbox>;
  /**
   * Builds walls around the workspace of a sandbox that was halted, or that ended by itself. What they were
   * made of before is asked for again, and refused if it cannot be had any more. On failure it stays halted.
   */
  start(id: string, options?: Cancel): Promise<Sandbox>;
  /** Ends the walls of a sandbox that nobody holds, and keeps the rest. Halted already: no error. */
  halt(id: string, options?: Cancel): Promise<void>;
  /** Opens the output of a sandbox's processes for reading, also while it is halted; throws `sandbox_gone` if there is no such sandbox. */
  journals(id: string): Promise<Journals>;
  /** Writes down whose a sandbox is from now on. In one step: a host killed half-way leaves the old or the new owner. */
  assign(id: string, owner: string): Promise<void>;
  /** All sandboxes on record in this installation. Reads only the records, so it never waits for a sandbox. */
  recorded(): Promise<readonly Pick<SandboxFacts, 'id' | 'owner' | 'createdAt'>[]>;
  /** Every sandbox of this installation, also those that no host holds; or those with the ids that are there. */
  list(options?: { readonly ids?: readonly string[] } & Cancel): Promise<readonly SandboxFacts[]>;
  /**
   * The ids of everything here that a sandbox of this installation left or still uses, also where its record
   * is gone or was never written: folders, containers, volumes, control groups, processes.
   */
  traces(options?: Cancel): Promise<readonly string[]>;
  /** Removes a sandbox with every trace, running or not. Idempotent: unknown ids are no error. */
  remove(id: string, options?: Cancel): Promise<void>;
}
